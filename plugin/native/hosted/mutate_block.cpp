// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mutations.h"

#include "../llvm/call_site.h"

#include "llvm/IR/CFG.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

using namespace llvm;

namespace passpilot {

/// Whether \p I must stay in the entry block.
static bool belongsToEntry(const Instruction &I) {
  const auto *C = dyn_cast<IntrinsicInst>(&I);
  switch (C ? C->getIntrinsicID() : Intrinsic::not_intrinsic) {
  case Intrinsic::localescape:
  case Intrinsic::gcroot:
  case Intrinsic::experimental_convergence_entry:
    return true;
  default:
    return false;
  }
}

BasicBlock &splitBefore(HostedModule &H, Instruction &I,
                        const std::string &Name) {
  const char *What = "split_before";
  Function &F = *I.getFunction();
  checkMayChange(H, &F, Extent::Instructions, What);
  checkPosition(I, What);
  if (I.getParent()->isEntryBlock())
    for (const Instruction &Next :
         make_range(I.getIterator(), I.getParent()->end()))
      if (belongsToEntry(Next))
        refuse(What, &F, "a position after what the entry block must have",
               printed(I));
  BasicBlock *New =
      SplitBlock(I.getParent(), I.getIterator(),
                 static_cast<DominatorTree *>(nullptr), nullptr, nullptr, Name);
  H.changed(F, Change::ControlFlow);
  return *New;
}

BasicBlock &addBlock(HostedModule &H, Function &F, const std::string &Name) {
  checkMayChange(H, &F, Extent::Instructions, "add_block");
  if (F.isDeclaration())
    refuse("add_block", &F, "a function with a body", "a declaration");
  BasicBlock *B = BasicBlock::Create(F.getContext(), Name, &F);
  new UnreachableInst(F.getContext(), B);
  H.changed(F, Change::ControlFlow);
  return *B;
}

void erase(HostedModule &H, BasicBlock &B) {
  const char *What = "erase";
  Function &F = *B.getParent();
  checkMayChange(H, &F, Extent::Instructions, What);
  const std::string Text = "block " + printedOperand(B);
  if (B.isEntryBlock())
    refuse(What, &F, "a block other than the entry", Text);
  if (!pred_empty(&B))
    refuse(What, &F, "a block without predecessors", Text,
           "change their terminators first");
  if (B.hasAddressTaken())
    refuse(What, &F, "a block whose address is not taken", Text);
  for (const Instruction &I : B)
    if (I.getType()->isTokenTy() && I.isUsedOutsideOfBlock(&B))
      refuse(What, &F, "a block whose tokens are not used elsewhere",
             printed(I));
  DeleteDeadBlock(&B);
  H.changed(F, Change::ControlFlow);
}

namespace {

/// Replaces a terminator. Unless keep() is called, the destructor restores the
/// old one.
class Replacement {
public:
  Replacement(BasicBlock &B, const char *What)
      : B(B), Old(B.getTerminator()), What(What) {}

  void put(Instruction *T) {
    New = T;
    noteEdges(*Old, -1);
    noteEdges(*New, +1);
    try {
      checkPhis();
    } catch (...) {
      New->deleteValue();
      throw;
    }
    New->setDebugLoc(Old->getDebugLoc());
    takeOut();
    New->insertInto(&B, B.end());
    adjustPhis();
    if (std::string Complaint = complaintAbout(*B.getParent());
        !Complaint.empty()) {
      putBack();
      refuse(What, B.getParent(), "a terminator that leaves the function valid",
             Complaint);
    }
    Old->deleteValue();
  }

private:
  using Incoming = std::vector<std::pair<Value *, BasicBlock *>>;

  /// Drops Old's operands, or it would count as a predecessor and user.
  void takeOut() {
    Operands.assign(Old->value_op_begin(), Old->value_op_end());
    Old->removeFromParent();
    Old->dropAllReferences();
  }

  void noteEdges(const Instruction &T, int Count) {
    for (unsigned I = 0, E = T.getNumSuccessors(); I < E; ++I)
      Edges[T.getSuccessor(I)] += Count;
  }

  /// Throws if a phi would lack a value or lose its last one.
  void checkPhis() const {
    for (auto [To, Count] : Edges) {
      if (To->phis().empty())
        continue;
      const bool Known = is_contained(predecessors(To), &B);
      if (Count > 0 && !Known)
        refuse(What, B.getParent(), "a block without phis", printedOperand(*To),
               "a phi needs a value for the new edge");
      if (Count < 0 && static_cast<size_t>(-Count) == pred_size(To))
        refuse(What, B.getParent(), "a block with phis to stay reachable",
               printedOperand(*To), "replace the uses of its phis, erase them");
    }
  }

  void adjustPhis() {
    for (auto [To, Count] : Edges)
      for (PHINode &P : To->phis()) {
        Incoming &Before = Phis.emplace_back(&P, Incoming()).second;
        for (unsigned I = 0; I < P.getNumIncomingValues(); ++I)
          Before.emplace_back(P.getIncomingValue(I), P.getIncomingBlock(I));
        for (int I = 0; I < Count; ++I)
          P.addIncoming(P.getIncomingValueForBlock(&B), &B);
        for (int I = 0; I > Count; --I)
          P.removeIncomingValue(&B, /*DeletePHIIfEmpty=*/false);
      }
  }

  void putBack() {
    New->eraseFromParent();
    for (unsigned I = 0; I < Operands.size(); ++I)
      Old->setOperand(I, Operands[I]);
    Old->insertInto(&B, B.end());
    for (auto &[P, Before] : Phis) {
      while (P->getNumIncomingValues() > 0)
        P->removeIncomingValue(0u, /*DeletePHIIfEmpty=*/false);
      for (auto [V, From] : Before)
        P->addIncoming(V, From);
    }
  }

  BasicBlock &B;
  Instruction *Old, *New = nullptr;
  const char *What;
  std::vector<Value *> Operands;
  MapVector<BasicBlock *, int> Edges;
  std::vector<std::pair<PHINode *, Incoming>> Phis;
};

/// Throws unless the terminator of \p B can be replaced.
void checkTerminator(HostedModule &H, const BasicBlock &B, const char *What) {
  const Function &F = *B.getParent();
  checkMayChange(H, &F, Extent::Instructions, What);
  const Instruction &T = *B.getTerminator();
  if (T.isEHPad() || isa<CallBase>(T) || isa<IndirectBrInst>(T) ||
      !T.use_empty())
    refuse(What, &F, "a block that ends in a branch, switch or return",
           printed(T));
  if (isa<ReturnInst>(T) && T.getPrevNode() && B.getTerminatingMustTailCall())
    refuse(What, &F, "a block without a musttail call", printed(T));
}

void checkTarget(const BasicBlock &B, const BasicBlock &To, const char *What) {
  const Function &F = *B.getParent();
  if (To.getParent() != &F)
    refuse(What, &F, "a block of that function", printedOperand(To));
  if (To.isEntryBlock())
    refuse(What, &F, "a block other than the entry", printedOperand(To));
  if (To.isEHPad())
    refuse(What, &F, "a block other than an exception pad", printedOperand(To));
}

} // namespace

void setBranch(HostedModule &H, BasicBlock &B, BasicBlock &To) {
  const char *What = "set_branch";
  checkTerminator(H, B, What);
  checkTarget(B, To, What);
  Replacement(B, What).put(BranchInst::Create(&To));
  H.changed(*B.getParent(), Change::ControlFlow);
}

void setConditionalBranch(HostedModule &H, BasicBlock &B, Value &Condition,
                          BasicBlock &IfTrue, BasicBlock &IfFalse) {
  const char *What = "set_conditional_branch";
  checkTerminator(H, B, What);
  checkTarget(B, IfTrue, What);
  checkTarget(B, IfFalse, What);
  checkOperand(H, Condition, *B.getTerminator(), What);
  if (!Condition.getType()->isIntegerTy(1))
    refuse(What, B.getParent(), "a condition of type i1",
           printedOperand(Condition));
  Replacement(B, What).put(BranchInst::Create(&IfTrue, &IfFalse, &Condition));
  H.changed(*B.getParent(), Change::ControlFlow);
}

void setReturn(HostedModule &H, BasicBlock &B, Value *V) {
  const char *What = "set_return";
  checkTerminator(H, B, What);
  Function &F = *B.getParent();
  Type *Wanted = F.getReturnType();
  if (V)
    checkOperand(H, *V, *B.getTerminator(), What);
  if (Wanted->isVoidTy() ? V != nullptr : !V || V->getType() != Wanted)
    refuse(What, &F, "a value of the type " + printedType(*Wanted),
           V ? printedOperand(*V) : "none");
  Replacement(B, What).put(ReturnInst::Create(F.getContext(), V));
  H.changed(F, Change::ControlFlow);
}

void setUnreachable(HostedModule &H, BasicBlock &B) {
  const char *What = "set_unreachable";
  checkTerminator(H, B, What);
  Replacement(B, What).put(new UnreachableInst(B.getContext()));
  H.changed(*B.getParent(), Change::ControlFlow);
}

} // namespace passpilot
