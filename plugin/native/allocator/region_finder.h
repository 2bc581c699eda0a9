// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the regions at which a live range can be split.

#ifndef PASSPILOT_ALLOCATOR_REGION_FINDER_H
#define PASSPILOT_ALLOCATOR_REGION_FINDER_H

#include "busy_blocks.h"
#include "split_region.h"

namespace passpilot {

class RegionFinder {
public:
  /// \p OnlyBest: regions that cannot be the first may be left out.
  RegionFinder(const FunctionAllocation &F, const LiveBlocks &Live,
               bool OnlyBest)
      : F(F), Live(Live), OnlyBest(OnlyBest), Busy(F, Live) {}

  /// The regions, the most promising first. \p Registers: those that the range
  /// may have.
  std::vector<SplitRegion> find(llvm::ArrayRef<llvm::MCRegister> Registers);

private:
  const FunctionAllocation &F;
  const LiveBlocks &Live;
  const bool OnlyBest;
  const BusyBlocks Busy;
  double Best = 0; ///< the largest gain of a region with a free register
  std::vector<SplitRegion> Found;

  void addLoops();
  void addBlocks(llvm::ArrayRef<unsigned> Hot);
  void addRegister(llvm::MCRegister Reg);
  void addGap(unsigned Index, llvm::MCRegister Reg);
  void addHalves(unsigned Index);
  std::vector<unsigned> hottest() const;
  llvm::BitVector grow(const llvm::BitVector &Taken) const;
  double mostWork(const llvm::BitVector &Taken) const;
  void shrink(SplitRegion &R, const TakenBlocks &Taken) const;
};

/// What a region promises: its gain, less if it may find no register.
double promise(const SplitRegion &R, const LiveBlocks &Live);

} // namespace passpilot

#endif
