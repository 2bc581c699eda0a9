// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The live ranges that wait for a register, in the order of LLVM's greedy
// allocator. The first is next, unless the runner of ra-order chooses another.

#pragma once

#include "allocator_advice.h"
#include "llvm/ADT/DenseMap.h"

#include <set>

namespace passpilot {

class WaitingRanges {
public:
  WaitingRanges(FunctionAllocation &F, RangeRecords &Records)
      : F(F), Records(Records) {}

  void add(llvm::Register Reg);
  /// Removes the next range; none if none waits.
  llvm::Register take(AllocatorAdvice &Advice);

private:
  /// The largest priority first, then the smallest number.
  struct Later {
    bool operator()(const WaitingRange &A, const WaitingRange &B) const {
      return A.Priority != B.Priority ? A.Priority > B.Priority : A.Reg < B.Reg;
    }
  };
  FunctionAllocation &F;
  RangeRecords &Records;
  std::set<WaitingRange, Later> Order;
  llvm::DenseMap<llvm::Register, uint64_t> Priorities;

  uint64_t priority(const llvm::LiveInterval &LI);
  bool stillWaits(llvm::Register Reg);
  void remove(const WaitingRange &W);
};

} // namespace passpilot
