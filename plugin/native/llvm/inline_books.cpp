// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "inline_books.h"

#include "llvm/ADT/SCCIterator.h"
#include "llvm/Analysis/CallGraph.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace passpilot {

InlineBooks::InlineBooks(Module &M, ModuleAnalysisManager &MAM,
                         FunctionAnalysisManager &FAM, InlineReads Reads)
    : FAM(FAM), CG(MAM.getResult<LazyCallGraphAnalysis>(M)), Reads(Reads) {
  FAM.registerPass([] { return FunctionFactsAnalysis(); });
  for (Function &F : M) {
    if (F.isDeclaration())
      continue;
    if (Reads.Size)
      InitialSize += facts(F).counts(F).Instructions;
    if (Reads.Uses)
      facts(F).uses(F);
  }
  Size = InitialSize;
  if (Reads.walksGraph())
    findLevels(M);
}

/// The level of a caller is one more than that of the highest function that it
/// calls; calls within a cycle of the call graph do not count.
void InlineBooks::findLevels(Module &M) {
  CallGraph Calls(M);
  for (auto SCC = scc_begin(&Calls); !SCC.isAtEnd(); ++SCC) {
    SmallVector<Function *, 4> Members;
    for (CallGraphNode *N : *SCC)
      if (Function *F = N->getFunction(); F && !F->isDeclaration())
        Members.push_back(F);
    unsigned Level = 0;
    for (Function *F : Members)
      for (const Instruction &I : instructions(*F))
        if (const auto *Call = dyn_cast<CallBase>(&I))
          if (Function *Callee = Call->getCalledFunction();
              Callee && !Callee->isDeclaration())
            if (auto Found = Levels.find(&CG.get(*Callee));
                Found != Levels.end())
              Level = std::max(Level, Found->second + 1);
    for (Function *F : Members)
      Levels[&CG.get(*F)] = Level;
  }
  if (Reads.Edges) // not of functions that nobody calls
    for (const auto &Entry : Levels) {
      Function &F = Entry.first->getFunction();
      EdgeCount += facts(F).counts(F).Calls;
    }
  NodeCount = Levels.size();
}

int64_t InlineBooks::height(const Function &F) const {
  const Node *N = CG.lookup(F);
  return N ? Levels.lookup(N) : 0;
}

KnownFunction &InlineBooks::remember(Function &F) {
  const auto [Found, IsNew] = Known.try_emplace(&F);
  KnownFunction &K = Found->second;
  if (IsNew) {
    FunctionFacts &Facts = facts(F);
    K.Counts = Facts.counts(F);
    K.Uses = Reads.Uses ? Facts.uses(F) : 0;
  }
  return K;
}

void InlineBooks::update(Function &F, KnownFunction &K) {
  if (!K.Outdated)
    return;
  const FunctionCounts Now = facts(F).counts(F);
  EdgeCount += Now.Calls - K.Counts.Calls;
  Size += Now.Instructions - K.Counts.Instructions;
  K.Counts = Now;
  K.Outdated = false;
}

void InlineBooks::updateAll() {
  for (Function *F : Outdated)
    if (const auto Found = Known.find(F); Found != Known.end())
      update(*F, Found->second);
  Outdated.clear();
  PossibleGrowth = 0;
}

int64_t InlineBooks::edges() {
  updateAll();
  return EdgeCount;
}

bool InlineBooks::hasGrown(double Factor) {
  const double Limit = Factor * static_cast<double>(InitialSize);
  if (static_cast<double>(Size + PossibleGrowth) <= Limit)
    return false;
  updateAll();
  return static_cast<double>(Size) > Limit;
}

void InlineBooks::forgetFunctions() {
  if (Reads.Size || Reads.Edges)
    updateAll();
  Outdated.clear();
  Known.clear();
}

void InlineBooks::enter(LazyCallGraph::SCC *SCC) {
  if (!SCC)
    return;
  forgetFunctions();
  if (!Reads.walksGraph())
    return;
  // Function passes have run since exit(), and may have created functions
  // beside those of the SCC, as CoroSplit does.
  while (!NodesInLastSCC.empty()) {
    const Node *N = *NodesInLastSCC.begin();
    NodesInLastSCC.erase(N);
    if (Reads.Edges || Reads.Uses)
      EdgeCount += callsIn(N->getFunction());
    const unsigned Level = Levels.lookup(N);
    for (const LazyCallGraph::Edge &E : **N)
      if (Levels.try_emplace(&E.getNode(), Level).second) {
        ++NodeCount;
        NodesInLastSCC.insert(&E.getNode());
      }
  }
  EdgeCount -= EdgesOfLastSeenNodes;
  EdgesOfLastSeenNodes = 0;
  for (const Node &N : *SCC)
    NodesInLastSCC.insert(&N);
}

void InlineBooks::exit(LazyCallGraph::SCC *SCC) {
  forgetFunctions();
  if (!SCC || !Reads.walksGraph())
    return;
  for (const Node &N : *SCC)
    NodesInLastSCC.insert(&N);
  EdgesOfLastSeenNodes = 0;
  if (Reads.Edges || Reads.Uses)
    for (const Node *N : NodesInLastSCC)
      EdgesOfLastSeenNodes += callsIn(N->getFunction());
}

/// More instructions than inlining \p Callee once can add: its own, and what
/// LLVM inserts for arguments, allocations and returns.
static int64_t possibleGrowth(const Function &Callee,
                              const FunctionCounts &Counts) {
  return 4 * Counts.Instructions + 16 * (Callee.arg_size() + 1);
}

void InlineBooks::inlined(Function &Caller, Function &Callee,
                          bool CalleeWasDeleted) {
  if (FunctionFacts *Facts = FAM.getCachedResult<FunctionFactsAnalysis>(Caller))
    Facts->outdate();
  if (const auto Found = Known.find(&Callee); Found != Known.end()) {
    const FunctionCounts &Counts = Found->second.Counts;
    PossibleGrowth += possibleGrowth(Callee, Counts);
    if (CalleeWasDeleted) {
      Size -= Counts.Instructions;
      EdgeCount -= Counts.Calls;
      Known.erase(Found);
    }
  }
  if (const auto Found = Known.find(&Caller); Found != Known.end()) {
    KnownFunction &K = Found->second;
    if (Reads.Uses)
      K.Uses = usesOf(Caller);
    if (!K.Outdated)
      Outdated.push_back(&Caller);
    K.Outdated = true;
  }
  if (CalleeWasDeleted && Reads.walksGraph()) {
    --NodeCount;
    NodesInLastSCC.erase(CG.lookup(Callee));
  }
}

} // namespace passpilot
