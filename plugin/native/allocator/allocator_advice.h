// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks the runners of the allocator's four points: fills their tensors, and
// checks by masks what is legal. Without a runner the default decides.

#pragma once

#include "../llvm/allocator_points.h"
#include "../llvm/register_allocation.h"
#include "evictions.h"
#include "split_region.h"

namespace passpilot {

/// A live range that waits for a register.
struct WaitingRange {
  llvm::Register Reg;
  uint64_t Priority;
};

/// One register that a live range could have.
struct RegisterChoice {
  llvm::MCRegister Reg;
  bool IsFree = false, IsHint = false;
  bool MayEvict = false; ///< Eviction has not been looked at yet
  std::optional<EvictionCost> Eviction = {};
};

/// What the allocator may do with a live range.
struct RangeChoices {
  const llvm::LiveInterval &Range;
  const RangeRecord &Record;
  std::vector<RegisterChoice> Registers; ///< hints first
  const LiveBlocks *Live = nullptr;      ///< null if not needed
  std::vector<SplitRegion> Regions = {}; ///< empty if not needed
  bool HasRegions = false;
  bool MaySplit = false, MaySpill = false, MayWait = false;

  bool allows(AllocatorAction A) const;
};

class AllocatorAdvice {
public:
  /// \p All: null if there is no advisor.
  AllocatorAdvice(RegisterAllocation *All, FunctionAllocation &F,
                  RangeRecords &Records)
      : Sessions(All ? All->Sessions : AllocationSessions()), F(F),
        Records(Records) {}

  bool asksOrder() const { return asks(Sessions.Order); }
  bool asksAction() const { return asks(Sessions.Action); }
  bool asksColour() const { return asks(Sessions.Colour); }
  bool asksSplit() const { return asks(Sessions.Split); }
  // What "ra-action" reads.
  bool readsEvictions() const;
  bool readsRegions() const;
  bool readsSpillCost() const;

  /// The index of the range that is next, at most AllocatorColumns of \p Count.
  size_t order(llvm::ArrayRef<WaitingRange> First, size_t Count);
  AllocatorAction action(const RangeChoices &C, AllocatorAction Default);
  /// The index of the register to take, free ones or, if \p Evicting, others.
  size_t colour(const RangeChoices &C, bool Evicting, size_t Default);
  size_t split(const RangeChoices &C);

private:
  const AllocationSessions Sessions;
  FunctionAllocation &F;
  RangeRecords &Records;
  std::vector<Session *> Entered; ///< that know the function
  llvm::BitVector BlocksOfOther;  ///< scratch memory

  bool readsOfAction(ActionFeature A) const {
    return asksAction() && Sessions.Action->reads(static_cast<size_t>(A));
  }
  static bool asks(const Session *S) { return S && !S->stopped(); }
  void enter(Session &S);
  size_t instructions(const llvm::LiveInterval &LI) const;
  int64_t classSize(const llvm::LiveInterval &LI) const;
};

} // namespace passpilot
