// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a register's region can gain at most: known from the blocks with
// accesses and those beside them, which are few among the blocks in which a
// long range is live.

#pragma once

#include "live_blocks.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/MC/MCRegister.h"

#include <vector>

namespace passpilot {

class RegionBound {
public:
  RegionBound(const FunctionAllocation &F, const LiveBlocks &Live);

  /// No region in which \p Reg is free gains more.
  double most(llvm::MCRegister Reg) const;

private:
  /// Where the range is live in a block that matters.
  struct Piece {
    llvm::SlotIndex From, Until;
    unsigned Block;
  };
  /// Where control flow joins or forks beside blocks with accesses.
  struct Junction {
    unsigned Accessing = 0;     ///< blocks with accesses
    std::vector<unsigned> From; ///< the blocks that the value comes from
  };
  const FunctionAllocation &F;
  const LiveBlocks &Live;
  std::vector<unsigned> Accessing; ///< the blocks with work
  std::vector<int> Numbers;        ///< by junction: in Junctions, or -1
  std::vector<Junction> Junctions;
  std::vector<Piece> Pieces;

  void findJunctions();
  void findPieces();
  void markTaken(llvm::BitVector &Taken, llvm::MCRegister Reg) const;
  double copyCost(const BlockFlow &B, const llvm::BitVector &Taken) const;
};

} // namespace passpilot
