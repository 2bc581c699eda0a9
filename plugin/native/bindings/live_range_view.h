// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The views that the binding files of the register allocator share.

#ifndef PASSPILOT_BINDINGS_LIVE_RANGE_VIEW_H
#define PASSPILOT_BINDINGS_LIVE_RANGE_VIEW_H

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

/// Adds what a machine function says about interference.
void bindInterference(nb::class_<MachineFunctionView> &Class);

} // namespace passpilot

#endif
