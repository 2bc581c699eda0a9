// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "default_decision.h"

#include "llvm_options.h"
#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/Analysis/BlockFrequencyInfo.h"
#include "llvm/Analysis/EphemeralValuesCache.h"
#include "llvm/Analysis/ProfileSummaryInfo.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/IR/Function.h"

using namespace llvm;

namespace passpilot {

DefaultDecision::DefaultDecision(FunctionAnalysisManager &FAM,
                                 InlineParams Params)
    : FAM(FAM), Params(Params),
      Deferral(Params.EnableDeferral.value_or(boolOption("inline-deferral"))),
      QuietModule(std::make_unique<Module>("quiet", Quiet)) {
  auto *Type = FunctionType::get(llvm::Type::getVoidTy(Quiet), false);
  auto *F = Function::Create(Type, GlobalValue::ExternalLinkage, "quiet",
                             *QuietModule);
  QuietORE = std::make_unique<OptimizationRemarkEmitter>(F, nullptr);
}

DefaultDecision::Outcome DefaultDecision::decide(CallBase &CB) {
  Function &Caller = *CB.getCaller(), &Callee = *CB.getCalledFunction();
  auto *PSI = FAM.getResult<ModuleAnalysisManagerFunctionProxy>(Caller)
                  .getCachedResult<ProfileSummaryAnalysis>(*Caller.getParent());
  auto AC = [&](Function &F) -> AssumptionCache & {
    return FAM.getResult<AssumptionAnalysis>(F);
  };
  auto BFI = [&](Function &F) -> BlockFrequencyInfo & {
    return FAM.getResult<BlockFrequencyAnalysis>(F);
  };
  auto TLI = [&](Function &F) -> const TargetLibraryInfo & {
    return FAM.getResult<TargetLibraryAnalysis>(F);
  };
  auto Ephemeral = [&](Function &F) -> EphemeralValuesCache & {
    return FAM.getResult<EphemeralValuesAnalysis>(F);
  };
  TargetTransformInfo &TTI = FAM.getResult<TargetIRAnalysis>(Callee);
  Outcome Result;
  auto Cost = [&](CallBase &Call) {
    const InlineCost Found =
        getInlineCost(Call, Params, TTI, AC, TLI, BFI, PSI, nullptr, Ephemeral);
    if (&Call == &CB) // and not a caller's call, for which CB is deferred
      Result.Weighed = Found.isVariable();
    return Found;
  };
  Result.Yes = shouldInline(CB, TTI, Cost, *QuietORE, Deferral);
  return Result;
}

} // namespace passpilot
