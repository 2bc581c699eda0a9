// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What splits need to know of a function's blocks. Allocation leaves the blocks
// as they are, so that all this is computed once per function.

#ifndef PASSPILOT_ALLOCATOR_FUNCTION_BLOCKS_H
#define PASSPILOT_ALLOCATOR_FUNCTION_BLOCKS_H

#include "../llvm/function_allocation.h"
#include "llvm/CodeGen/MachineBasicBlock.h"
#include "llvm/CodeGen/SlotIndexes.h"

#include <vector>

namespace llvm {
class EdgeBundles;
}

namespace passpilot {

struct BlockFacts {
  double Frequency = 0;
  llvm::SlotIndex Terminator; ///< the first one; invalid if there is none
  unsigned LoopDepth = 0;
  unsigned Before = 0, After = 0; ///< LLVM's edge bundles
  /// No copy at the end would reach all successors: one is a landing pad, or a
  /// target of inline assembly.
  bool Pinned = false;
};

class FunctionBlocks {
public:
  FunctionBlocks(const FunctionAllocation &F, const llvm::EdgeBundles &Bundles);

  const BlockFacts &of(const llvm::MachineBasicBlock &B) const {
    return Facts[static_cast<size_t>(B.getNumber())];
  }

  // One live range at a time numbers its blocks and junctions here. Entries of
  // earlier ranges stay: whoever reads one checks that it is the range's own.
  std::vector<unsigned> BlockNumbers;    ///< by LLVM's number of the block
  std::vector<unsigned> JunctionNumbers; ///< by edge bundle

private:
  std::vector<BlockFacts> Facts;
};

} // namespace passpilot

#endif
