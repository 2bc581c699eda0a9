// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs pipelines of LLVM's passes on the unit of a user's pass, like elements
// of the outer pipeline: with its analysis managers, instrumentation and
// advisors. Invalidates analyses as LLVM's adaptors would.

#include "after_user_pass.h"
#include "user_pass.h"

#include "llvm/Support/SaveAndRestore.h"

using namespace llvm;

namespace passpilot {

Error UserPasses::checkRun(const PassUnit &Unit, Function *F,
                           bool Changed) const {
  if (Failure || (Stopped && Stopped()))
    return createStringError(
        "expected a compilation that goes on, got one that ends");
  if (std::string Found = Verify && Changed ? complaints(Unit, F) : "";
      !Found.empty())
    return createStringError(Found);
  return Error::success();
}

/// Invalidates the analyses of what the pass itself has changed.
static void noteOwnChange(const PassUnit &Unit) {
  const auto Kept = PreservedAnalyses::none();
  if (Unit.Level == PassLevel::Module)
    Unit.Managers.Module->invalidate(*Unit.Module, Kept);
  for (Function *F : functionsOf(Unit))
    Unit.Managers.Function->invalidate(*F, Kept);
}

/// Invalidates analyses after a module pass has run a pipeline on a function.
static void noteFunctionChange(const PassUnit &Unit, PreservedAnalyses PA) {
  PA.preserveSet<AllAnalysesOn<Function>>();
  PA.preserve<FunctionAnalysisManagerModuleProxy>();
  Unit.Managers.Module->invalidate(*Unit.Module, PA);
}

Expected<bool> UserPasses::runText(const PassUnit &Unit, Function *F,
                                   StringRef Text, bool Changed) {
  if (Error E = checkRun(Unit, F, Changed))
    return E;
  const SaveAndRestore Inner(Nested, true);
  ModuleAnalysisManager &MAM = *Unit.Managers.Module;
  const bool OfModule = Unit.Level == PassLevel::Module;
  if (Changed)
    noteOwnChange(Unit);
  if (OfModule) // the module's result invalidates what is cached next
    MAM.getResult<FunctionAnalysisManagerModuleProxy>(*Unit.Module);
  PreservedAnalyses PA = PreservedAnalyses::all();
  if (F) {
    FunctionPassManager PM;
    if (Error E = parseLate(PM, Text))
      return E;
    PA = PM.run(*F, *Unit.Managers.Function);
    if (OfModule)
      noteFunctionChange(Unit, PA);
  } else {
    ModulePassManager PM;
    if (Error E = parseLate(PM, Text))
      return E;
    PA = PM.run(*Unit.Module, MAM);
    MAM.getResult<FunctionAnalysisManagerModuleProxy>(*Unit.Module);
  }
  if (Failure || (Stopped && Stopped()))
    return createStringError(
        "expected a compilation that goes on, got one that ends");
  return !PA.areAllPreserved();
}

} // namespace passpilot
