// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef PASSPILOT_ALLOCATOR_SPLIT_EDIT_H
#define PASSPILOT_ALLOCATOR_SPLIT_EDIT_H

#include "split_region.h"

namespace llvm {
class LiveRangeEdit;
}

namespace passpilot {

/// Splits the range of \p Edit at a region: all its operands get one of two new
/// registers, and copies connect them. LLVM's spiller needs the live interval
/// of the original register, which therefore stays. Returns the register of the
/// region.
llvm::Register splitAt(const SplitRegion &R, const LiveBlocks &Live,
                       const FunctionAllocation &F, llvm::LiveRangeEdit &Edit);

} // namespace passpilot

#endif
