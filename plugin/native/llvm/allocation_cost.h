// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What register allocation has cost a function: the instructions that it put
// there or left, weighted by how often they run. The weights are those of
// LLVM's RegAllocScore.

#ifndef PASSPILOT_LLVM_ALLOCATION_COST_H
#define PASSPILOT_LLVM_ALLOCATION_COST_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace passpilot {

struct FunctionAllocation;

enum class CostKind : size_t {
  Spill,
  Reload,
  FoldedSpill,  ///< an instruction that writes a spill slot, among other things
  FoldedReload, ///< likewise, reads
  FoldedBoth,   ///< reads and writes one
  Copy,
  CheapRematerialization,
  Rematerialization
};
constexpr size_t CostKinds = 8;
/// The kind's name in reports: "spills".
const char *costName(CostKind K);

struct AllocationCost {
  std::string Function;
  std::array<uint64_t, CostKinds> Counts{};
  /// Sums of executions per execution of the function's entry.
  std::array<double, CostKinds> Frequencies{};
  /// The weighted sum: copy 0.2, load 4, store 1, load and store 5, cheap
  /// rematerialisation 0.2, expensive 1.
  double total() const;
};

/// The cost of \p F at the end of its allocation, before virtual registers are
/// replaced. LLVM does not mark what it rematerialised: every instruction that
/// it could have counts, as in RegAllocScore.
AllocationCost allocationCost(const FunctionAllocation &F);

} // namespace passpilot

#endif
