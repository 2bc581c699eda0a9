// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The module as the inliner's features describe it: the properties of
// functions, the counts of functions and calls, and the growth of the module.
// Values, and the moments at which they are read, follow LLVM's ML inline
// advisor; what no feature and no limit reads is not computed.
//
// Lifetime: outlived by the module and its analysis managers.

#pragma once

#include "function_facts.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Analysis/LazyCallGraph.h"

#include <map>

namespace passpilot {

/// What the features and limits of a compilation read.
struct InlineReads {
  bool Graph = false; ///< the number of functions, or a caller's height
  bool Edges = false; ///< the number of calls
  bool Uses = false;  ///< the uses of callers or callees
  bool Size = false;  ///< the growth of the module

  /// LLVM's counts of uses are as old as its walks over the call graph.
  bool walksGraph() const { return Graph || Edges || Uses; }
};

/// One function, as it was after the last inlining into it.
struct KnownFunction {
  FunctionCounts Counts;
  int64_t Uses = 0;
  bool Outdated = false; ///< Counts are those before the last inlining
};

class InlineBooks {
public:
  InlineBooks(llvm::Module &M, llvm::ModuleAnalysisManager &MAM,
              llvm::FunctionAnalysisManager &FAM, InlineReads Reads);

  void enter(llvm::LazyCallGraph::SCC *SCC);
  void exit(llvm::LazyCallGraph::SCC *SCC);
  /// \p Callee has been inlined into \p Caller. Before, the caller had been
  /// remembered, and the callee was known.
  void inlined(llvm::Function &Caller, llvm::Function &Callee,
               bool CalleeWasDeleted);

  FunctionFacts &facts(llvm::Function &F) {
    return FAM.getResult<FunctionFactsAnalysis>(F);
  }
  const KnownFunction &known(llvm::Function &F) {
    KnownFunction &K = remember(F);
    update(F, K);
    return K;
  }
  /// As known(), but the counts may be those before an inlining.
  KnownFunction &remember(llvm::Function &F);
  int64_t nodes() const { return NodeCount; }
  int64_t edges();
  int64_t height(const llvm::Function &F) const;
  /// Whether the module is more than \p Factor times its first size.
  bool hasGrown(double Factor);

private:
  using Node = llvm::LazyCallGraph::Node;

  llvm::FunctionAnalysisManager &FAM;
  llvm::LazyCallGraph &CG;
  const InlineReads Reads;
  // References into a std::map survive insertions.
  std::map<const llvm::Function *, KnownFunction> Known;
  llvm::SmallVector<llvm::Function *, 4> Outdated;

  int64_t NodeCount = 0, EdgeCount = 0, EdgesOfLastSeenNodes = 0;
  int64_t InitialSize = 0, Size = 0;
  // More than the outdated functions have grown.
  int64_t PossibleGrowth = 0;
  llvm::DenseMap<const Node *, unsigned> Levels;
  llvm::SmallPtrSet<const Node *, 1> NodesInLastSCC;

  void findLevels(llvm::Module &M);
  void update(llvm::Function &F, KnownFunction &K);
  void updateAll();
  void forgetFunctions();
  int64_t callsIn(llvm::Function &F) { return known(F).Counts.Calls; }
};

} // namespace passpilot
