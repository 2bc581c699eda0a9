// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "decisions.h"

#include "llvm_options.h"

#include "llvm/IR/LLVMContext.h"

using namespace llvm;

namespace passpilot {

namespace {

class DecidedPass : public PassInfoMixin<DecidedPass> {
public:
  DecidedPass(PassBuilder &PB, std::shared_ptr<const DecisionFile> File,
              bool GeneratesCode)
      : PB(&PB), File(std::move(File)), GeneratesCode(GeneratesCode) {}

  PreservedAnalyses run(Module &M, ModuleAnalysisManager &MAM) {
    const UnitDecisions *Unit = File->find(M.getSourceFileName());
    if (!Unit)
      return PreservedAnalyses::all();
    for (const std::string &Name : Unit->NoOutline)
      if (Function *F = M.getFunction(Name); F && !F->isDeclaration())
        F->addFnAttr("nooutline");
    if (Unit->Outline && GeneratesCode)
      outlineInAllFunctions();
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
  std::shared_ptr<const DecisionFile> File;
  bool GeneratesCode;
};

} // namespace

void registerDecisions(PassBuilder &PB,
                       const std::shared_ptr<const DecisionFile> &File,
                       bool GeneratesCode) {
  PB.registerOptimizerLastEPCallback(
      [&PB, File, GeneratesCode](ModulePassManager &PM, OptimizationLevel,
                                 ThinOrFullLTOPhase Phase) {
        // The linker optimizes what is compiled for it, and decides then.
        if (Phase == ThinOrFullLTOPhase::None ||
            Phase == ThinOrFullLTOPhase::ThinLTOPostLink)
          PM.addPass(DecidedPass(PB, File, GeneratesCode));
      });
  PB.registerFullLinkTimeOptimizationLastEPCallback(
      [&PB, File, GeneratesCode](ModulePassManager &PM, OptimizationLevel) {
        PM.addPass(DecidedPass(PB, File, GeneratesCode));
      });
}

} // namespace passpilot
