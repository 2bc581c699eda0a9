// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the inliner's features and its legality check need to know about one
// function, counted in one walk. LLVM's FunctionPropertiesAnalysis counts the
// same, but first computes dominators and loops, which no feature reads.

#pragma once

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/PassManager.h"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace llvm {
class BasicBlock;
class CallBase;
} // namespace llvm

namespace passpilot {

/// Counts of the reachable blocks, by the rules of FunctionPropertiesInfo.
struct FunctionCounts {
  int64_t Blocks = 0;
  int64_t ConditionalBlocks = 0;
  int64_t Calls = 0; ///< direct calls to defined functions
  int64_t Instructions = 0;
};

class FunctionFacts {
public:
  const FunctionCounts &counts(const llvm::Function &F);
  bool isReachable(const llvm::BasicBlock &B);
  /// The uses of the function when this was first called: LLVM's feature is
  /// as old as its cached analysis.
  int64_t uses(const llvm::Function &F);
  /// The function has been changed by inlining.
  void outdate();

  /// Something in the function, on any path, can make LLVM's cost analysis
  /// find that no call of it can be inlined.
  bool isUnusual(const llvm::Function &F) { return count(F), Unusual; }
  bool allocates(const llvm::Function &F) { return count(F), Allocates; }
  bool callsIndirectly(const llvm::Function &F) {
    return count(F), CallsIndirectly;
  }

  /// What features have computed of the function as it is, by their maker;
  /// empty if nothing yet.
  std::vector<float> &vectorOf(const void *Maker);

private:
  FunctionCounts Counts;
  std::optional<int64_t> Uses;
  // The unreachable blocks: most functions have none.
  llvm::SmallPtrSet<const llvm::BasicBlock *, 1> Unreachable;
  bool BlocksKnown = false, CountsKnown = false;
  bool Unusual = false, Allocates = false, CallsIndirectly = false;
  llvm::SmallVector<std::pair<const void *, std::vector<float>>, 0> Vectors;

  void findUnreachable(const llvm::Function &F);
  void count(const llvm::Function &F);
  void count(const llvm::BasicBlock &B, bool IsReachable);
  void look(const llvm::CallBase &Call);
};

/// Caches the facts until a pass has changed the function.
class FunctionFactsAnalysis
    : public llvm::AnalysisInfoMixin<FunctionFactsAnalysis> {
public:
  static llvm::AnalysisKey Key;
  using Result = FunctionFacts;
  FunctionFacts run(llvm::Function &, llvm::FunctionAnalysisManager &) {
    return {};
  }
};

/// The uses of \p F by the rule of FunctionPropertiesInfo.
int64_t usesOf(const llvm::Function &F);

} // namespace passpilot
