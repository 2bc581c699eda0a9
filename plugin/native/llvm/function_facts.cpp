// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "function_facts.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;

namespace passpilot {

AnalysisKey FunctionFactsAnalysis::Key;

int64_t usesOf(const Function &F) {
  return static_cast<int64_t>(F.getNumUses()) + !F.hasLocalLinkage();
}

const FunctionCounts &FunctionFacts::counts(const Function &F) {
  count(F);
  return Counts;
}

int64_t FunctionFacts::uses(const Function &F) {
  if (!Uses)
    Uses = usesOf(F);
  return *Uses;
}

void FunctionFacts::outdate() {
  BlocksKnown = CountsKnown = false;
  Uses.reset();
  for (auto &[Maker, Vector] : Vectors)
    Vector.clear();
}

std::vector<float> &FunctionFacts::vectorOf(const void *Maker) {
  for (auto &[Known, Vector] : Vectors)
    if (Known == Maker)
      return Vector;
  return Vectors.emplace_back(Maker, std::vector<float>()).second;
}

bool FunctionFacts::isReachable(const BasicBlock &B) {
  if (!BlocksKnown)
    findUnreachable(*B.getParent());
  return !Unreachable.contains(&B);
}

void FunctionFacts::findUnreachable(const Function &F) {
  BitVector Reached(F.getMaxBlockNumber());
  SmallVector<const BasicBlock *, 32> Left{&F.getEntryBlock()};
  Reached.set(F.getEntryBlock().getNumber());
  size_t Count = 1;
  while (!Left.empty())
    for (const BasicBlock *Next : successors(Left.pop_back_val()))
      if (!Reached.test(Next->getNumber())) {
        Reached.set(Next->getNumber());
        Left.push_back(Next);
        ++Count;
      }
  Unreachable.clear();
  if (Count != F.size())
    for (const BasicBlock &B : F)
      if (!Reached.test(B.getNumber()))
        Unreachable.insert(&B);
  BlocksKnown = true;
}

void FunctionFacts::count(const Function &F) {
  if (CountsKnown)
    return;
  if (!BlocksKnown)
    findUnreachable(F);
  Counts = {};
  Unusual = Allocates = CallsIndirectly = false;
  for (const BasicBlock &B : F)
    count(B, !Unreachable.contains(&B));
  CountsKnown = true;
}

/// The blocks that the terminator chooses from, once per edge.
static int64_t choices(const Instruction &Terminator) {
  if (const auto *Branch = dyn_cast<BranchInst>(&Terminator))
    return Branch->isConditional() ? Branch->getNumSuccessors() : 0;
  if (const auto *Switch = dyn_cast<SwitchInst>(&Terminator))
    return Switch->getNumCases() + 1;
  return 0;
}

void FunctionFacts::count(const BasicBlock &B, bool IsReachable) {
  FunctionCounts Unread;
  FunctionCounts &Into = IsReachable ? Counts : Unread;
  for (const Instruction &I : B) {
    if (const auto *Call = dyn_cast<CallBase>(&I)) {
      if (I.isDebugOrPseudoInst())
        continue;
      const Function *Callee = Call->getCalledFunction();
      Into.Calls += Callee && !Callee->isDeclaration();
      look(*Call);
    } else if (const auto *Alloca = dyn_cast<AllocaInst>(&I)) {
      Allocates = true;
      Unusual |= !Alloca->isStaticAlloca() || Alloca->isArrayAllocation();
    }
    ++Into.Instructions;
  }
  ++Into.Blocks;
  const Instruction &Terminator = *B.getTerminator();
  Into.ConditionalBlocks += choices(Terminator);
  Unusual |= isa<IndirectBrInst>(Terminator) || B.hasAddressTaken();
}

/// Source: the reasons to fail in CallAnalyzer of LLVM's InlineCost.cpp.
void FunctionFacts::look(const CallBase &Call) {
  const Function *Caller = Call.getFunction(), *F = Call.getCalledFunction();
  Unusual |= F == Caller || Call.cannotDuplicate() ||
             (Call.hasFnAttr(Attribute::ReturnsTwice) &&
              !Caller->hasFnAttribute(Attribute::ReturnsTwice));
  CallsIndirectly |= !F;
  switch (Call.getIntrinsicID()) {
  case Intrinsic::icall_branch_funnel:
  case Intrinsic::localescape:
  case Intrinsic::vastart:
    Unusual = true;
    break;
  default:
    break;
  }
}

} // namespace passpilot
