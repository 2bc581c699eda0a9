// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What register allocation costs a function: the instructions that it added or
// left in place, weighted by how often they run. The weights are those of
// LLVM's RegAllocScore.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace passpilot {

struct FunctionAllocation;

enum class CostKind : size_t {
  Spill,
  Reload,
  FoldedSpill,  ///< an instruction that also writes a spill slot
  FoldedReload, ///< an instruction that also reads a spill slot
  FoldedBoth,   ///< an instruction that also does both
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

/// The cost of \p F after allocation, before virtual registers are replaced.
/// LLVM does not mark rematerialised instructions: like RegAllocScore, this
/// counts every instruction that LLVM could have rematerialised.
AllocationCost allocationCost(const FunctionAllocation &F);

} // namespace passpilot
