// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where a physical register is taken while a live range is live.

#pragma once

#include "live_blocks.h"
#include "llvm/ADT/BitVector.h"

#include <utility>
#include <vector>

namespace passpilot {

/// Where a register is taken, by indices in LiveBlocks::All.
struct TakenBlocks {
  explicit TakenBlocks(unsigned Count)
      : Anywhere(Count), AtStart(Count), AtEnd(Count) {}
  llvm::BitVector Anywhere, AtStart, AtEnd; ///< where copies would be
};

class BusyBlocks {
public:
  BusyBlocks(const FunctionAllocation &F, const LiveBlocks &Live);

  TakenBlocks of(llvm::MCRegister Reg) const;
  /// The slots within block \p Index where \p Reg is taken, in order.
  std::vector<std::pair<llvm::SlotIndex, llvm::SlotIndex>>
  within(unsigned Index, llvm::MCRegister Reg) const;

private:
  struct Call {
    llvm::SlotIndex At;
    const uint32_t *Preserved;
    unsigned Block;
    bool AtEnd; ///< behind the place of a copy at the block's end
  };
  const FunctionAllocation &F;
  const LiveBlocks &Live;
  std::vector<Call> Calls; ///< that the range is live across, in order
  /// As in LiveBlock.
  struct BlockEnd {
    int Last;
    llvm::SlotIndex LastSlot, End;
  };
  std::vector<int> Begins; ///< of the blocks
  std::vector<BlockEnd> Ends;

  void findCalls(unsigned Index);
  size_t blockAt(int At, size_t Near) const;
  llvm::SlotIndex mark(TakenBlocks &T, llvm::SlotIndex From,
                       llvm::SlotIndex Until, size_t &Near) const;
};

} // namespace passpilot
