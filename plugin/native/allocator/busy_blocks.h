// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where a physical register is taken while a live range is live.

#ifndef PASSPILOT_ALLOCATOR_BUSY_BLOCKS_H
#define PASSPILOT_ALLOCATOR_BUSY_BLOCKS_H

#include "live_blocks.h"
#include "llvm/ADT/BitVector.h"

#include <utility>
#include <vector>

namespace passpilot {

class BusyBlocks {
public:
  BusyBlocks(const FunctionAllocation &F, const LiveBlocks &Live);

  /// The indices in LiveBlocks::All of the blocks where \p Reg is taken.
  llvm::BitVector of(llvm::MCRegister Reg) const;
  /// The slots within block \p Index where \p Reg is taken, in order.
  std::vector<std::pair<llvm::SlotIndex, llvm::SlotIndex>>
  within(unsigned Index, llvm::MCRegister Reg) const;

private:
  struct Call {
    llvm::SlotIndex At;
    const uint32_t *Preserved;
    unsigned Block;
  };
  const FunctionAllocation &F;
  const LiveBlocks &Live;
  std::vector<Call> Calls; ///< that the range is live across
};

} // namespace passpilot

#endif
