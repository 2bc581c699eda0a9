// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which blocks of a live range should share a register that is taken in some of
// them.

#pragma once

#include "live_blocks.h"
#include "llvm/ADT/BitVector.h"

#include <vector>

namespace passpilot {

class RegionGrowth {
public:
  explicit RegionGrowth(const LiveBlocks &Live);

  /// The blocks outside \p Taken that should be in a region: those with
  /// accesses, and those between them where it is cheaper to stay in the
  /// register.
  llvm::BitVector grow(const llvm::BitVector &Taken);

private:
  /// Another junction, at the other end of a block without accesses.
  struct Neighbour {
    double Weight;
    unsigned Junction, Block;
  };
  const std::vector<BlockFlow> &Blocks;
  std::vector<Neighbour>
      Neighbours;               ///< of the first junction, of the second...
  std::vector<unsigned> Firsts; ///< where a junction's neighbours begin
  /// What the blocks with accesses say of their junctions: above 0 if the value
  /// should be in the region's register there.
  std::vector<double> Untaken;
  std::vector<double> Bias; ///< Untaken, and what the taken blocks say
  /// By junction: 1 if the value should be in the region's register, -1 if not.
  std::vector<int> Sign;
  llvm::BitVector Unsettled; ///< junctions whose sign may change

  void connect();
  static void lean(std::vector<double> &Bias, const BlockFlow &B, double By);
  void weigh(unsigned J, const llvm::BitVector &Taken);
  void propagate(const llvm::BitVector &Taken);
};

} // namespace passpilot
