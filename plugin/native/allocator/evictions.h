// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which live ranges may be evicted from a register, and what that costs.

#pragma once

#include "../llvm/function_allocation.h"
#include "range_record.h"
#include "llvm/CodeGen/LiveInterval.h"

#include <optional>

namespace passpilot {

struct EvictionCost {
  unsigned BrokenHints = 0; ///< ranges in the register that they are hinted to
  float MaxWeight = 0;
  unsigned Ranges = 0; ///< how many are evicted
  bool Lighter = true; ///< all have less spill weight, or must give way
  /// As Lighter, or they can be split and are in no register of their hints.
  bool GivesWayToHint = true;

  bool operator<(const EvictionCost &O) const {
    return BrokenHints != O.BrokenHints ? BrokenHints < O.BrokenHints
                                        : MaxWeight < O.MaxWeight;
  }
};

class Evictions {
public:
  Evictions(FunctionAllocation &F, RangeRecords &Records)
      : F(F), Records(Records) {}

  /// The cost of taking \p Reg from the live ranges that interfere with \p LI,
  /// and nothing else interferes; nothing if that is forbidden. \p OnlyLighter:
  /// ... or if one of them is not Lighter.
  std::optional<EvictionCost> cost(const llvm::LiveInterval &LI,
                                   llvm::MCRegister Reg, bool OnlyLighter);
  /// Unassigns them and adds them to \p Evicted.
  void evict(const llvm::LiveInterval &LI, llvm::MCRegister Reg,
             llvm::SmallVectorImpl<llvm::Register> &Evicted);

private:
  FunctionAllocation &F;
  RangeRecords &Records;

  bool add(EvictionCost &Cost, const llvm::LiveInterval &LI,
           const llvm::LiveInterval &Other);
  bool isUrgent(const llvm::LiveInterval &LI, const llvm::LiveInterval &Other);
};

} // namespace passpilot
