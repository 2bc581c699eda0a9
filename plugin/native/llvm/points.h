// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM's decision points: the tensors that LLVM computes at each of them.

#pragma once

#include "../runtime/point.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace passpilot {

/// An option that limits what a runner may do at a point.
struct PointLimit {
  const char *Option; ///< null: no such option
  const char *Value;  ///< the value's name in help texts
  const char *Help;
  double Default;
  bool Whole; ///< the value is an integer
};

/// One of LLVM's decision points, for options, bindings and plugins. Python's
/// catalogue (features/catalogue.py) has the same row.
struct HookedPoint {
  const char *Name;
  const char *Function; ///< our function that reaches it: optimize or emit
  const char *Question; ///< what a runner decides
  const char *Unasked;  ///< why a runner may never be asked
  PointLimit Limit;
  const Point &(*Table)(); ///< the tensors
};

llvm::ArrayRef<HookedPoint> hookedPoints();
/// The point named \p Name; null if there is none.
const HookedPoint *findHooked(llvm::StringRef Name);

/// A pass in Python that runs when code generation begins, if its point is
/// advised: the point's name and the pass's pipeline text. Python's catalogue
/// has the same rows.
struct EmitPass {
  const char *Point, *Text;
};
llvm::ArrayRef<EmitPass> emitPasses();

/// The tensors of the point "inline".
const Point &inlinePoint();

} // namespace passpilot
