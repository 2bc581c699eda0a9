// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mutations.h"

#include "../llvm/call_site.h"
#include "analyses.h"

#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/AsmParser/SlotMapping.h"
#include "llvm/IR/GlobalAlias.h"
#include "llvm/IR/GlobalIFunc.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace llvm;

namespace passpilot {

namespace {

std::string named(const GlobalValue &G) { return "@" + G.getName().str(); }

/// Throws unless \p Name is free for a new global.
void checkName(HostedModule &H, const std::string &Name, const char *What) {
  if (Name.empty() || Name.find('\0') != std::string::npos)
    refuse(What, nullptr, "a name", Name.empty() ? "an empty one" : "NUL");
  if (const GlobalValue *G = H.module().getNamedValue(Name))
    refuse(What, nullptr, "a name that is free", named(*G));
}

bool isUsedByAlias(const GlobalValue &G) {
  return any_of(G.users(), [](const User *U) { return isa<GlobalAlias>(U); });
}

/// Why \p G cannot have linkage \p L; empty if it can.
const char *obstacle(const GlobalValue &G, GlobalValue::LinkageTypes L) {
  if (isa<GlobalIFunc>(G) || G.hasAppendingLinkage() ||
      GlobalValue::isAppendingLinkage(L))
    return "one whose linkage is free";
  if (G.isDeclaration())
    return GlobalValue::isExternalLinkage(L) ||
                   GlobalValue::isExternalWeakLinkage(L)
               ? ""
               : "external or extern_weak for a declaration";
  if (GlobalValue::isExternalWeakLinkage(L) || GlobalValue::isCommonLinkage(L))
    return "a linkage for definitions that need not be zero";
  if (GlobalValue::isAvailableExternallyLinkage(L) &&
      (isa<GlobalAlias>(G) || G.hasComdat() || isUsedByAlias(G)))
    return "a linkage for what an alias or comdat needs";
  if (isa<GlobalAlias>(G) && isUsedByAlias(G))
    return "an alias that no other depends on";
  return "";
}

/// Whether all uses of \p F are direct calls whose convention can change.
bool isOnlyCalled(const Function &F) {
  return all_of(F.uses(), [&](const Use &U) {
    const auto *CB = dyn_cast<CallBase>(U.getUser());
    return CB && CB->isCallee(&U) && !CB->isMustTailCall() &&
           CB->getFunctionType() == F.getFunctionType();
  });
}

bool hasMustTailCall(const Function &F) {
  return any_of(F, [](const BasicBlock &B) {
    return B.getTerminatingMustTailCall() != nullptr;
  });
}

} // namespace

void setLinkage(HostedModule &H, GlobalValue &G, const std::string &Text) {
  const std::string What = "linkage of " + named(G);
  checkMayChange(H, nullptr, Extent::Functions, What.c_str());
  const auto L = linkageOf(Text);
  if (!L)
    refuse(What, nullptr, "one of LLVM's, as external or internal", Text);
  if (*L == G.getLinkage())
    return;
  const auto *F = dyn_cast<Function>(&G);
  if (F && F->isIntrinsic())
    refuse(What, nullptr, "a function other than an intrinsic", Text);
  if (const char *Expected = obstacle(G, *L); *Expected)
    refuse(What, nullptr, Expected, Text);
  if (GlobalValue::isLocalLinkage(*L))
    G.setDLLStorageClass(GlobalValue::DefaultStorageClass);
  else if (G.hasLocalLinkage())
    G.setDSOLocal(false);
  G.setLinkage(*L);
  H.changed(G);
}

void setVisibility(HostedModule &H, GlobalValue &G, const std::string &Text) {
  const std::string What = "visibility of " + named(G);
  checkMayChange(H, nullptr, Extent::Functions, What.c_str());
  const auto V = visibilityOf(Text);
  if (!V)
    refuse(What, nullptr, "default, hidden or protected", Text);
  const auto *F = dyn_cast<Function>(&G);
  if (*V != GlobalValue::DefaultVisibility &&
      (G.hasLocalLinkage() || (F && F->isIntrinsic()) ||
       G.getDLLStorageClass() != GlobalValue::DefaultStorageClass))
    refuse(What, nullptr, "default for " + linkageText(G) + " linkage", Text);
  G.setVisibility(*V);
  H.changed(G);
}

void setCallingConvention(HostedModule &H, Function &F,
                          const std::string &Text) {
  const char *What = "calling_convention";
  checkMayChange(H, &F, Extent::Functions, What);
  const std::pair<const char *, CallingConv::ID> Offered[] = {
      {"ccc", CallingConv::C},
      {"fastcc", CallingConv::Fast},
      {"coldcc", CallingConv::Cold}};
  const auto *Found =
      find_if(Offered, [&](auto &P) { return P.first == Text; });
  if (Found == std::end(Offered))
    refuse(What, &F, "ccc, fastcc or coldcc", Text);
  if (none_of(Offered, [&](auto &P) { return P.second == F.getCallingConv(); }))
    refuse(What, &F, "a function of ccc, fastcc or coldcc",
           callingConvText(F.getCallingConv()));
  if (!F.hasLocalLinkage() || F.isVarArg() || !isOnlyCalled(F) ||
      hasMustTailCall(F) || F.hasFnAttribute(Attribute::Naked))
    refuse(What, &F,
           "a local function without variable arguments, of which all uses are "
           "ordinary calls",
           linkageText(F) + " " + F.getName().str());
  F.setCallingConv(Found->second);
  for (User *U : F.users())
    cast<CallBase>(U)->setCallingConv(Found->second);
  H.changed(static_cast<GlobalValue &>(F));
}

void erase(HostedModule &H, GlobalValue &G) {
  const std::string What = "erase of " + named(G);
  checkMayChange(H, nullptr, Extent::Functions, What.c_str());
  G.removeDeadConstantUsers();
  if (!G.use_empty())
    refuse(What, nullptr, "a global without uses",
           std::to_string(G.getNumUses()) + " uses");
  if (!G.isDeclaration() && !G.isDiscardableIfUnused())
    refuse(What, nullptr, "a global that nothing outside the module uses",
           linkageText(G) + " linkage", "make it internal first");
  H.erased(G);
  G.eraseFromParent();
}

Function &clone(HostedModule &H, Function &F, const std::string &Name) {
  checkMayChange(H, nullptr, Extent::Functions, "clone");
  checkName(H, Name, "clone");
  if (F.isDeclaration())
    refuse("clone", &F, "a function with a body", "a declaration");
  if (StringRef(Name).starts_with("llvm."))
    refuse("clone", &F, "a name that is not LLVM's own", Name);
  ValueToValueMapTy Map;
  Function *New = CloneFunction(&F, Map);
  New->setName(Name);
  New->setComdat(nullptr);
  New->setDLLStorageClass(GlobalValue::DefaultStorageClass);
  New->setLinkage(GlobalValue::InternalLinkage);
  H.changed(*New, Change::ControlFlow);
  return *New;
}

/// Whether \p F uses convergence control tokens.
static bool controlsConvergence(const Function &F) {
  for (Intrinsic::ID ID : {Intrinsic::experimental_convergence_entry,
                           Intrinsic::experimental_convergence_anchor,
                           Intrinsic::experimental_convergence_loop})
    if (const Function *D =
            Intrinsic::getDeclarationIfExists(F.getParent(), ID))
      for (const User *U : D->users())
        if (const auto *I = dyn_cast<Instruction>(U);
            I && I->getFunction() == &F)
          return true;
  return false;
}

void inlineCall(HostedModule &H, CallBase &CB) {
  const char *What = "inline";
  Function &Caller = *CB.getFunction();
  checkMayChange(H, &Caller, Extent::Instructions, What);
  Function *Callee = CB.getCalledFunction();
  if (!Callee || Callee->isDeclaration() || Callee == &Caller)
    refuse(What, &Caller, "a direct call of another function with a body",
           printed(CB));
  if (InlineResult R = isInlineViable(*Callee); !R.isSuccess())
    refuse(What, &Caller, "a callee that can be inlined", R.getFailureReason());
  FunctionAnalysisManager &FAM = analysesOf(H, Caller);
  if (!targetOf(H, *Callee).areInlineCompatible(&Caller, Callee) ||
      !AttributeFuncs::areInlineCompatible(Caller, *Callee) ||
      Callee->isPresplitCoroutine() || Caller.hasFnAttribute(Attribute::Naked))
    refuse(What, &Caller, "a callee of compatible attributes", named(*Callee));
  if (controlsConvergence(*Callee) || controlsConvergence(Caller))
    refuse(What, &Caller, "functions without convergence tokens",
           named(*Callee));
  auto Assumptions = [&](Function &F) -> AssumptionCache & {
    return FAM.getResult<AssumptionAnalysis>(F);
  };
  InlineFunctionInfo IFI(Assumptions);
  if (InlineResult R = InlineFunction(CB, IFI, /*MergeAttributes=*/true);
      !R.isSuccess())
    refuse(What, &Caller, "a call that can be inlined", R.getFailureReason());
  H.changed(Caller, Change::ControlFlow);
}

[[noreturn]] static void refuseText(const char *What, const std::string &Text,
                                    const SMDiagnostic &D) {
  refuse(std::string(What) + " '" + Text + "'", nullptr,
         "it as LLVM's assembly has it", D.getMessage().str());
}

/// The module's named types, which text may refer to.
static SlotMapping namesOf(const Module &M) {
  SlotMapping Names;
  for (StructType *T : M.getIdentifiedStructTypes())
    if (T->hasName())
      Names.NamedTypes[T->getName()] = T;
  return Names;
}

Type &typeOf(HostedModule &H, const std::string &Text) {
  SMDiagnostic D;
  const SlotMapping Names = namesOf(H.module());
  NamedValues Named(H.module().getContext());
  Type *T = parseType(Text, D, H.module(), &Names);
  if (!T)
    refuseText("type", Text, D);
  return *T;
}

Constant &constantOf(HostedModule &H, const std::string &Text) {
  SMDiagnostic D;
  const SlotMapping Names = namesOf(H.module());
  NamedValues Named(H.module().getContext());
  Constant *C = parseConstantValue(Text, D, H.module(), &Names);
  if (!C)
    refuseText("constant", Text, D);
  return *C;
}

Function &declare(HostedModule &H, const std::string &Name, Type &T) {
  checkMayChange(H, nullptr, Extent::Instructions, "declare");
  auto *FT = dyn_cast<FunctionType>(&T);
  if (!FT)
    refuse("declare " + Name, nullptr, "a function type, as 'i32 (ptr)'",
           printedType(T));
  if (Function *F = H.module().getFunction(Name);
      F && F->getFunctionType() == FT)
    return *F;
  checkName(H, Name, "declare");
  Function *F =
      Function::Create(FT, GlobalValue::ExternalLinkage, Name, H.module());
  if (std::string Complaint = complaintAbout(*F); !Complaint.empty()) {
    F->eraseFromParent();
    refuse("declare " + Name, nullptr, "a function that LLVM accepts",
           Complaint);
  }
  H.changed(static_cast<GlobalValue &>(*F));
  return *F;
}

GlobalVariable &addGlobal(HostedModule &H, const std::string &Name, Type &T,
                          Constant *Initializer, bool IsConstant) {
  const char *What = "add_global";
  checkMayChange(H, nullptr, Extent::Functions, What);
  checkName(H, Name, What);
  if (StringRef(Name).starts_with("llvm."))
    refuse(What, nullptr, "a name that is not LLVM's own", Name);
  if (!T.isSized() || T.isScalableTy() || T.isTokenTy() ||
      (Initializer && Initializer->getType() != &T))
    refuse(What, nullptr, "a type of known size", printedType(T));
  auto *G = new GlobalVariable(H.module(), &T, IsConstant,
                               Initializer ? GlobalValue::InternalLinkage
                                           : GlobalValue::ExternalLinkage,
                               Initializer, Name);
  H.changed(static_cast<GlobalValue &>(*G));
  return *G;
}

} // namespace passpilot
