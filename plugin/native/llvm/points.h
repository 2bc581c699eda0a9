// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM's decision points: the tensors that LLVM itself computes for each.

#ifndef PASSPILOT_LLVM_POINTS_H
#define PASSPILOT_LLVM_POINTS_H

#include "../runtime/point.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace passpilot {

/// An option that bounds what a runner may do at a point.
struct PointLimit {
  const char *Option; ///< null: there is none
  const char *Value;  ///< what help texts call its value
  const char *Help;
  double Default;
  bool Whole; ///< it is an integer
};

/// One of LLVM's decision points, as options, bindings and doors need it. The
/// catalogue of Python has the same row (features/catalogue.py).
struct HookedPoint {
  const char *Name;
  const char *Function; ///< which of ours reaches it: optimize or emit
  const char *Question; ///< what a runner is asked
  const char *Unasked;  ///< why a runner may never be asked
  PointLimit Limit;
  const Point &(*Table)(); ///< the tensors
};

llvm::ArrayRef<HookedPoint> hookedPoints();
/// The point of this name; null if there is none.
const HookedPoint *findHooked(llvm::StringRef Name);

/// The tensors of the point "inline".
const Point &inlinePoint();

} // namespace passpilot

#endif
