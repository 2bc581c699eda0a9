// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the copies between a region of a split and the rest.

#ifndef PASSPILOT_ALLOCATOR_REGION_BORDER_H
#define PASSPILOT_ALLOCATOR_REGION_BORDER_H

#include "busy_blocks.h"
#include "split_region.h"

namespace passpilot {

/// Fills in the copies, costs and counts of a region of whole blocks. Returns
/// false if the region would be all of the range, have no access, or need a
/// copy where none can be.
/// \p Taken: where the region's register is; null if it has none yet.
bool closeBlocks(SplitRegion &R, const LiveBlocks &Live,
                 const TakenBlocks *Taken = nullptr);

/// As closeBlocks() for a region within block \p Index: the accesses from \p
/// First to \p Last.
bool closeGap(SplitRegion &R, const LiveBlocks &Live, unsigned Index,
              size_t First, size_t Last);

} // namespace passpilot

#endif
