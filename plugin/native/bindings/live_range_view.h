// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Views that several binding files of the register allocator use.

#pragma once

#include "../llvm/register_allocation.h"
#include "view.h"

namespace passpilot {

/// A view of a question about a live range.
struct SiteView : View {
  using View::View;
  LiveRangeQuestion &asked() const {
    return static_cast<LiveRangeQuestion &>(question("live-range"));
  }
  FunctionAllocation &function() const { return asked().Function; }
};

struct MachineFunctionView : SiteView {
  explicit MachineFunctionView(const SiteView &S) : SiteView(S) {}
};

inline const llvm::MachineFunction &of(const MachineFunctionView &V) {
  return V.function().MF;
}

/// Adds the interference functions to the class of machine functions.
void bindInterference(nb::class_<MachineFunctionView> &Class);

} // namespace passpilot
