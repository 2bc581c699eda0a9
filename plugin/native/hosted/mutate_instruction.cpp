// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mutations.h"

#include "../llvm/call_site.h"
#include "access.h"
#include "analyses.h"

#include "llvm/IR/Dominators.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Verifier.h"

using namespace llvm;

namespace passpilot {

void refuse(const std::string &What, const Function *F,
            const std::string &Expected, const std::string &Got,
            const std::string &Advice) {
  throw IRError(What + (F ? " at function " + F->getName().str() : "") +
                ": expected " + Expected + ", got " + Got +
                (Advice.empty() ? "" : "; " + Advice));
}

void checkMayChange(HostedModule &H, const Function *F, Extent E,
                    const char *What) {
  if (H.Worker == std::thread::id())
    return;
  if (!H.Pass)
    refuse(What, F, "a pass that changes the module, or no compilation",
           "a change while LLVM is at work on it");
  if (E == Extent::Functions && !H.Pass->mayChangeModule())
    refuse(What, F, "a module pass", "a pass over part of the module",
           "a function or loop pass leaves globals as they are");
  if (F && !H.Pass->mayChange(*F))
    refuse(What, F, "a function that the pass runs on", "another one");
  if (E != Extent::Attachments && !H.Pass->mayChangeBlocks())
    refuse(What, F, "metadata", "a change of the body",
           "a loop pass leaves instructions as they are; use a function pass");
}

std::string complaintAbout(const Function &F) {
  std::string Text;
  raw_string_ostream OS(Text);
  return verifyFunction(F, &OS) ? StringRef(Text).split('\n').first.str() : "";
}

static bool needsReturnNext(const Instruction &I) {
  const auto *C = dyn_cast<CallInst>(&I);
  return C && (C->isMustTailCall() ||
               C->getIntrinsicID() == Intrinsic::experimental_deoptimize);
}

void checkPosition(Instruction &Pos, const char *What) {
  const Function *F = Pos.getFunction();
  if (isa<PHINode>(Pos))
    refuse(What, F, "a position after the block's phis", printed(Pos));
  if (Pos.isEHPad())
    refuse(What, F, "a position after the exception pad", printed(Pos));
  const Instruction *Previous = Pos.getPrevNode();
  // Between a musttail call and its return there may be a cast of the result.
  for (; Previous && isa<BitCastInst>(Previous);
       Previous = Previous->getPrevNode())
    ;
  if (Previous && needsReturnNext(*Previous))
    refuse(What, F, "a position before the musttail call", printed(Pos));
}

static const Function *functionOf(const Value &V) {
  if (const auto *I = dyn_cast<Instruction>(&V))
    return I->getFunction();
  if (const auto *A = dyn_cast<Argument>(&V))
    return A->getParent();
  return nullptr;
}

/// Throws unless \p V can be an operand in function \p F, wherever.
static void checkUsable(const Value &V, const Function &F, const char *What) {
  const bool Local = isa<Instruction>(V) || isa<Argument>(V);
  if (!Local && !isa<Constant>(V))
    refuse(What, &F, "an instruction, an argument or a constant",
           printedOperand(V));
  if (Local && functionOf(V) != &F)
    refuse(What, &F, "a value of that function",
           printedOperand(V) + " of " + functionOf(V)->getName().str());
  if (!V.getType()->isFirstClassType() || V.getType()->isTokenTy() ||
      V.getType()->isLabelTy() || V.getType()->isMetadataTy())
    refuse(What, &F, "a value that can be copied", printedOperand(V));
  if (V.isSwiftError())
    refuse(What, &F, "a value other than swifterror", printedOperand(V));
  if (const auto *G = dyn_cast<Function>(&V); G && G->isIntrinsic())
    refuse(What, &F, "a function that has an address", printedOperand(V));
  if (isa<Argument>(V) && F.hasFnAttribute(Attribute::Naked))
    refuse(What, &F, "no argument in a naked function", printedOperand(V));
}

void checkOperand(HostedModule &H, Value &V, Instruction &Pos,
                  const char *What) {
  Function &F = *Pos.getFunction();
  checkUsable(V, F, What);
  if (auto *I = dyn_cast<Instruction>(&V))
    if (!dominatorsOf(H, F).dominates(I, &Pos))
      refuse(What, &F, "an operand that is computed before", printed(V));
}

static void checkReplaceable(const Value &Old, const Function &F) {
  const char *What = "replace_all_uses_with";
  checkUsable(Old, F, What);
  if (isa<Instruction>(Old) && needsReturnNext(*cast<Instruction>(&Old)))
    refuse(What, &F, "a value other than a musttail call's", printed(Old));
}

/// Whether a user has rules of its own for the operand.
static bool isParticular(const Use &U) {
  return isa<CallBase>(U.getUser()) || isa<AllocaInst>(U.get());
}

void replaceAllUses(HostedModule &H, Value &Old, Value &New) {
  const char *What = "replace_all_uses_with";
  Function *F = const_cast<Function *>(functionOf(Old));
  if (!F)
    refuse(What, nullptr, "an instruction or an argument to replace",
           printedOperand(Old));
  checkMayChange(H, F, Extent::Instructions, What);
  checkReplaceable(Old, *F);
  checkUsable(New, *F, What);
  if (&Old == &New || Old.getType() != New.getType())
    refuse(What, F, "another value of the type " + printedType(*Old.getType()),
           printedOperand(New));
  SmallVector<Use *, 8> Uses;
  bool Particular = false;
  for (Use &U : Old.uses()) {
    if (auto *I = dyn_cast<Instruction>(&New))
      if (!dominatorsOf(H, *F).dominates(I, U))
        refuse(What, F, "a value that is computed before every use",
               printed(New));
    Uses.push_back(&U);
    Particular |= isParticular(U);
  }
  for (Use *U : Uses)
    U->set(&New);
  if (std::string Complaint = Particular ? complaintAbout(*F) : "";
      !Complaint.empty()) {
    for (Use *U : Uses)
      U->set(&Old);
    refuse(What, F, "a value that its users accept", Complaint);
  }
  Old.replaceAllUsesWith(&New); // what metadata and debug records say
  H.changed(*F);
}

void erase(HostedModule &H, Instruction &I) {
  const char *What = "erase";
  Function &F = *I.getFunction();
  checkMayChange(H, &F, Extent::Instructions, What);
  if (I.isTerminator())
    refuse(What, &F, "an instruction other than a terminator", printed(I),
           "use set_branch, set_return or set_unreachable of its block");
  if (I.isEHPad())
    refuse(What, &F, "an instruction other than an exception pad", printed(I));
  if (!I.use_empty())
    refuse(What, &F, "an instruction without users",
           std::to_string(I.getNumUses()) + " of" + printed(I),
           "replace_all_uses_with first");
  if (const auto *C = dyn_cast<IntrinsicInst>(&I))
    if (C->getIntrinsicID() == Intrinsic::localescape)
      refuse(What, &F, "a call that other functions do not refer to",
             printed(I));
  I.eraseFromParent();
  H.changed(F);
}

void moveBefore(HostedModule &H, Instruction &I, Instruction &Pos) {
  const char *What = "move_before";
  Function &F = *I.getFunction();
  checkMayChange(H, &F, Extent::Instructions, What);
  if (&I == &Pos)
    return;
  if (Pos.getFunction() != &F)
    refuse(What, &F, "a position in that function",
           "one in " + Pos.getFunction()->getName().str());
  if (isa<PHINode>(I) || isa<AllocaInst>(I) || I.isTerminator() ||
      I.isEHPad() || I.getType()->isTokenTy() || needsReturnNext(I) ||
      isa<IntrinsicInst>(I))
    refuse(What, &F, "an instruction whose place is free", printed(I));
  checkPosition(Pos, What);
  if (const auto *R = dyn_cast_or_null<Instruction>(I.getNextNode());
      R && I.getPrevNode() && needsReturnNext(*I.getPrevNode()))
    refuse(What, &F, "an instruction whose place is free", printed(I));
  for (Value *V : I.operand_values())
    if (auto *D = dyn_cast<Instruction>(V))
      checkOperand(H, *D, Pos, What);
  DominatorTree &DT = dominatorsOf(H, F);
  const auto From = std::next(I.getIterator());
  BasicBlock &Home = *I.getParent();
  I.moveBefore(Pos.getIterator());
  for (const Use &U : I.uses())
    if (!DT.dominates(&I, U)) {
      I.moveBefore(Home, From);
      refuse(What, &F, "a position before every user", printed(Pos));
    }
  H.changed(F);
}

} // namespace passpilot
