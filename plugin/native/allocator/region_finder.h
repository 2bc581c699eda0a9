// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the regions at which a live range can be split.

#ifndef PASSPILOT_ALLOCATOR_REGION_FINDER_H
#define PASSPILOT_ALLOCATOR_REGION_FINDER_H

#include "busy_blocks.h"
#include "split_region.h"

namespace llvm {
class EdgeBundles;
}

namespace passpilot {

class RegionFinder {
public:
  RegionFinder(const FunctionAllocation &F, const llvm::EdgeBundles &Bundles,
               const LiveBlocks &Live)
      : F(F), Bundles(Bundles), Live(Live), Busy(F, Live) {}

  /// The regions, the most promising first. \p Registers: those that the range
  /// may have.
  std::vector<SplitRegion> find(llvm::ArrayRef<llvm::MCRegister> Registers);

private:
  const FunctionAllocation &F;
  const llvm::EdgeBundles &Bundles;
  const LiveBlocks &Live;
  const BusyBlocks Busy;
  std::vector<SplitRegion> Found;

  void addLoops();
  void addBlocks(llvm::ArrayRef<unsigned> Hot);
  void addRegister(llvm::MCRegister Reg);
  void addGap(unsigned Index, llvm::MCRegister Reg);
  void addHalves(unsigned Index);
  std::vector<unsigned> hottest() const;
  llvm::BitVector grow(const llvm::BitVector &Taken) const;
  void shrink(SplitRegion &R, const TakenBlocks &Taken) const;
};

/// What a region promises: its gain, less if it may find no register.
double promise(const SplitRegion &R, const LiveBlocks &Live);

} // namespace passpilot

#endif
