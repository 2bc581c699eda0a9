// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "decisions.h"

#include "llvm_options.h"

#include "llvm/IR/LLVMContext.h"

#include <functional>

using namespace llvm;

namespace passpilot {

namespace {

/// Finds the decisions for a module; null if there are none.
using FindUnit = std::function<const UnitDecisions *(const Module &)>;

class DecidedPass : public PassInfoMixin<DecidedPass> {
public:
  DecidedPass(PassBuilder &PB, FindUnit Find, bool GeneratesCode)
      : PB(&PB), Find(std::move(Find)), GeneratesCode(GeneratesCode) {}

  PreservedAnalyses run(Module &M, ModuleAnalysisManager &MAM) {
    const UnitDecisions *Unit = Find(M);
    if (!Unit)
      return PreservedAnalyses::all();
    for (const std::string &Name : Unit->NoOutline)
      if (Function *F = M.getFunction(Name); F && !F->isDeclaration())
        F->addFnAttr("nooutline");
    if (GeneratesCode)
      for (const std::string &Each : Unit->Options)
        if (!setUnlessGiven(Each))
          M.getContext().emitError("decisions for " + Unit->Name +
                                   ": expected an option of LLVM's, got '" +
                                   Each + "'");
    if (Unit->Pipeline.empty())
      return PreservedAnalyses::all();
    ModulePassManager Inner;
    if (Error E = PB->parsePassPipeline(Inner, Unit->Pipeline)) {
      M.getContext().emitError("decisions for " + Unit->Name +
                               ": expected a pipeline, got '" + Unit->Pipeline +
                               "': " + toString(std::move(E)));
      return PreservedAnalyses::all();
    }
    return Inner.run(M, MAM);
  }
  static bool isRequired() { return true; }

private:
  PassBuilder *PB;
  FindUnit Find;
  bool GeneratesCode;
};

/// Lets the pipelines of \p PB end with what \p Find finds.
void registerUnits(PassBuilder &PB, const FindUnit &Find, bool GeneratesCode) {
  PB.registerOptimizerLastEPCallback(
      [&PB, Find, GeneratesCode](ModulePassManager &PM, OptimizationLevel,
                                 ThinOrFullLTOPhase Phase) {
        // The linker optimizes what is compiled for it, and decides then.
        if (Phase == ThinOrFullLTOPhase::None ||
            Phase == ThinOrFullLTOPhase::ThinLTOPostLink)
          PM.addPass(DecidedPass(PB, Find, GeneratesCode));
      });
  PB.registerFullLinkTimeOptimizationLastEPCallback(
      [&PB, Find, GeneratesCode](ModulePassManager &PM, OptimizationLevel) {
        PM.addPass(DecidedPass(PB, Find, GeneratesCode));
      });
}

} // namespace

void registerDecisions(PassBuilder &PB,
                       const std::shared_ptr<const DecisionFile> &File,
                       bool GeneratesCode) {
  registerUnits(
      PB, [File](const Module &M) { return File->find(M.getSourceFileName()); },
      GeneratesCode);
}

void registerPipelineBehind(PassBuilder &PB, const std::string &Text) {
  auto All = std::make_shared<UnitDecisions>();
  All->Pipeline = Text;
  registerUnits(
      PB, [All](const Module &) { return All.get(); }, /*GeneratesCode=*/false);
}

} // namespace passpilot
