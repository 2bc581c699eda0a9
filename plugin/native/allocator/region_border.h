// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the copies between a region of a split and the rest.

#pragma once

#include "busy_blocks.h"
#include "split_region.h"

namespace passpilot {

class RegionBorder {
public:
  explicit RegionBorder(const LiveBlocks &Live)
      : Live(Live), Junctions(Live.Junctions), Near(Live.size()) {}

  /// Fills in the copies, costs and counts of a region of whole blocks. Returns
  /// false if the region would be all of the range, have no access, or need a
  /// copy where none can be.
  /// \p Taken: where the region's register is; null if it has none yet.
  bool close(SplitRegion &R, const TakenBlocks *Taken = nullptr);

private:
  /// A place where control flow joins or forks.
  struct Junction {
    double Inside = 0;  ///< the cost of the copies if the value is inside there
    double Outside = 0; ///< ... or in the rest
    bool HasInside = false, HasOutside = false;
    bool MustBeInside = false, MustBeOutside = false;

    bool possible() const { return !MustBeInside || !MustBeOutside; }
    bool isInside() const {
      if (!HasInside || !HasOutside)
        return HasInside;
      return MustBeInside || (!MustBeOutside && Inside < Outside);
    }
  };
  const LiveBlocks &Live;
  // Of one region at a time; empty between regions.
  std::vector<Junction> Junctions;
  std::vector<unsigned> Touched; ///< junctions at blocks of the region
  llvm::BitVector Near;          ///< blocks at these

  void count(SplitRegion &R) const;
  Junction &touch(unsigned J);
  void findNear(const llvm::BitVector &Blocks);
  void noteInside(const BlockFlow &B, bool Defines);
  void noteOutside(unsigned I, bool Defines, const TakenBlocks *Taken);
  void addCopies(SplitRegion &R, unsigned I) const;
};

/// As RegionBorder::close() for a region within block \p Index: the accesses
/// from \p First to \p Last.
bool closeGap(SplitRegion &R, const LiveBlocks &Live, unsigned Index,
              size_t First, size_t Last);

} // namespace passpilot
