// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the regions at which a live range can be split.

#pragma once

#include "region_border.h"
#include "region_growth.h"
#include "split_region.h"

namespace passpilot {

class RegionFinder {
public:
  /// \p OnlyBest: regions that cannot be the first may be left out.
  RegionFinder(const FunctionAllocation &F, LiveBlocks &Live, bool OnlyBest)
      : F(F), Live(Live), OnlyBest(OnlyBest) {}

  /// The regions, the most promising first. \p Registers: those that the range
  /// may have.
  std::vector<SplitRegion> find(llvm::ArrayRef<llvm::MCRegister> Registers);
  /// Whether find() finds some.
  bool any(llvm::ArrayRef<llvm::MCRegister> Registers);

private:
  const FunctionAllocation &F;
  LiveBlocks &Live;
  const bool OnlyBest;
  // Set when first needed.
  std::optional<BusyBlocks> Busy;
  std::optional<RegionGrowth> Growth;
  std::optional<RegionBorder> Border;
  double Best = 0; ///< the largest promise of a region that was found
  std::vector<SplitRegion> Found;

  void add(SplitRegion R);
  const BusyBlocks &busy();
  RegionBorder &border();
  void addLoops();
  void addBlocks(llvm::ArrayRef<unsigned> Hot);
  void addRegisters(llvm::ArrayRef<llvm::MCRegister> Registers);
  void addRegister(llvm::MCRegister Reg);
  void addGap(unsigned Index, llvm::MCRegister Reg);
  void addHalves(unsigned Index);
  std::vector<unsigned> hottest() const;
  void shrink(SplitRegion &R, const TakenBlocks &Taken);
};

/// What a region promises: its gain, less if it may find no register.
double promise(const SplitRegion &R, const LiveBlocks &Live);

} // namespace passpilot
