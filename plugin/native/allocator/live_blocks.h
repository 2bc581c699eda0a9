// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The blocks of a function, and those in which a live range is live, with what
// it does there.

#pragma once

#include "../llvm/function_allocation.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/CodeGen/LiveInterval.h"
#include "llvm/CodeGen/MachineBasicBlock.h"

#include <vector>

namespace llvm {
class EdgeBundles;
class MachineInstr;
} // namespace llvm

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

/// What splits need to know of a function's blocks. Allocation leaves the
/// blocks as they are, so this is computed once per function.
class FunctionBlocks {
public:
  FunctionBlocks(const FunctionAllocation &F, const llvm::EdgeBundles &Bundles);

  const BlockFacts &of(const llvm::MachineBasicBlock &B) const {
    return Facts[static_cast<size_t>(B.getNumber())];
  }

  // One live range at a time numbers its blocks and junctions here. Entries of
  // earlier ranges stay: a reader checks that an entry is the range's own.
  std::vector<unsigned> BlockNumbers;    ///< by LLVM's number of the block
  std::vector<unsigned> JunctionNumbers; ///< by edge bundle

private:
  std::vector<BlockFacts> Facts;
};

/// What a reload and a spill cost, in the units of LLVM's RegAllocScore.
constexpr double ReadCost = 4, WriteCost = 1;

/// An instruction that reads or writes a live range.
struct RangeAccess {
  const llvm::MachineInstr *Instruction;
  llvm::SlotIndex Index;
  bool Reads, Writes;
  /// A copy between two parts of one range that was split: memory to memory if
  /// both are spilled, and then nothing.
  bool IsSplitCopy;
  double cost() const {
    return IsSplitCopy ? 0 : Reads * ReadCost + Writes * WriteCost;
  }
};

struct LiveBlock {
  const llvm::MachineBasicBlock *Block;
  double Frequency;
  // Positions in the function, 16 per instruction.
  int Begin, End;               ///< of the block
  int Last;                     ///< of LastSlot
  llvm::SlotIndex LastSlot;     ///< where a copy at its end would be
  bool Pinned;                  ///< see BlockFacts
  bool In = false, Out = false; ///< live at its begin, at its end
  bool Defines = false;
  int Length = 0; ///< how long it is live there
  unsigned LoopDepth = 0;
  double Work = 0; ///< what its accesses cost in memory
  // The junctions of control flow at its begin and its end, counted from 0;
  // only if the range is live there.
  unsigned Before = 0, After = 0;
  std::vector<RangeAccess> Accesses = {}; ///< in order
};

/// A live block in brief, for walks over all of them.
struct BlockFlow {
  double Frequency, Work;
  unsigned Before, After;
  unsigned Accesses; ///< their number
  unsigned LoopDepth;
  int Length;
  bool In, Out, Pinned, Defines;
};

class LiveBlocks {
public:
  /// Valid until the next one of the same \p Blocks is made.
  LiveBlocks(const FunctionAllocation &F, FunctionBlocks &Blocks,
             const llvm::LiveInterval &LI);

  const llvm::LiveInterval &Range;
  std::vector<LiveBlock> All; ///< in the order of the code
  /// As All; for a range that can be split, after findFlow().
  std::vector<BlockFlow> Flow;
  /// Whether it can be split: no parts of registers are live on their own, and
  /// a copy can follow every definition.
  bool Splittable = true;
  double Work = 0; ///< what it costs to spill the range
  int Length = 0;  ///< the sum of the blocks' lengths
  /// Where control flow joins or forks, all blocks must agree: a junction is an
  /// edge bundle of LLVM's. Known after findFlow().
  unsigned Junctions = 0;
  /// The blocks that begin or end at a junction, by indices in All; one that
  /// does both is there twice. Known after findFlow().
  llvm::ArrayRef<unsigned> blocksAt(unsigned Junction) const {
    const unsigned First = FirstsAt[Junction];
    return llvm::ArrayRef(BlocksAt).slice(First,
                                          FirstsAt[Junction + 1] - First);
  }

  unsigned size() const { return static_cast<unsigned>(All.size()); }
  /// The index in All of a block that it contains.
  unsigned indexOf(const llvm::MachineBasicBlock *Block) const {
    return Blocks.BlockNumbers[static_cast<size_t>(Block->getNumber())];
  }
  bool contains(const llvm::MachineBasicBlock *Block) const {
    const unsigned I = indexOf(Block);
    return I < All.size() && All[I].Block == Block;
  }
  /// Sets \p There to the indices in All of the blocks in which another range
  /// is live.
  void findBlocksOf(const llvm::LiveInterval &Other,
                    llvm::BitVector &There) const;
  /// Finds the junctions, and the blocks at them, unless they are known.
  void findFlow();

private:
  const FunctionAllocation &F;
  FunctionBlocks &Blocks;
  std::vector<unsigned> FirstsAt, BlocksAt; ///< see blocksAt()

  LiveBlock &at(const llvm::MachineBasicBlock &Block);
  void findBlocks();
  void findJunctions();
  void findAccesses();
  bool entersEverywhere() const;
};

} // namespace passpilot
