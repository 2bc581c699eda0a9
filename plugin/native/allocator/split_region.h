// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Splits of live ranges: a region gets a register of its own, and copies
// connect it with the rest.

#pragma once

#include "live_blocks.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/CodeGen/SlotIndexes.h"

#include <string>
#include <vector>

namespace llvm {
class LiveRangeEdit;
}

namespace passpilot {

enum class RegionKind : int64_t {
  Loop,     ///< a loop
  Block,    ///< one block
  Register, ///< the blocks in which some register is free, as far as it pays
  Gap       ///< instructions of one block
};

/// Where a value changes between the region and the rest.
struct RegionCopy {
  enum class Place { BlockStart, BlockEnd, Before, After };
  const llvm::MachineBasicBlock *Block;
  Place Where;
  const llvm::MachineInstr *Beside; ///< of Before and After
  bool Enters;                      ///< into the region
};

struct SplitRegion {
  RegionKind Kind = RegionKind::Block;
  llvm::BitVector Blocks; ///< indices in LiveBlocks::All
  /// Of a gap: its first and last access.
  const RangeAccess *First = nullptr, *Last = nullptr;
  llvm::MCRegister Free; ///< is free in the whole region; may be none
  std::vector<RegionCopy> Copies = {};
  double Work = 0;     ///< what the region's accesses would cost in memory
  double CopyCost = 0; ///< what the copies cost if the rest is in memory
  unsigned Instructions = 0;
  int Length = 0; ///< how long the range is live there; 16 per instruction
  unsigned LoopDepth = 0;
  bool Defines = false;

  double gain() const { return Work - CopyCost; }
  /// "loop:3": the kind, and the number of the first block.
  std::string name(const LiveBlocks &Live) const;
  bool contains(const LiveBlocks &Live, const llvm::MachineInstr &I,
                const llvm::LiveIntervals &LIS) const;
  /// Whether another range, which is live in the blocks \p There, is live
  /// somewhere in the region.
  bool overlaps(const llvm::LiveInterval &Other,
                const llvm::BitVector &There) const;
};

/// Splits the range of \p Edit at a region: all its operands get one of two new
/// registers, and copies connect them. LLVM's spiller needs the live interval
/// of the original register, which therefore stays. Returns the register of the
/// region.
llvm::Register splitAt(const SplitRegion &R, const LiveBlocks &Live,
                       const FunctionAllocation &F, llvm::LiveRangeEdit &Edit);

} // namespace passpilot
