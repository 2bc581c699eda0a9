// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "access.h"

#include "module.h"

#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/IR/Instructions.h"

using namespace llvm;

namespace passpilot {

PassAccess::PassAccess(HostedModule &H, ModuleAnalysisManager &MAM)
    : FAM(&MAM.getResult<FunctionAnalysisManagerModuleProxy>(H.module())
               .getManager()),
      H(H), Outer(std::exchange(H.Pass, this)), WholeModule(true) {}

PassAccess::PassAccess(HostedModule &H, FunctionAnalysisManager &FAM,
                       ArrayRef<Function *> Functions)
    : FAM(&FAM), H(H), Outer(std::exchange(H.Pass, this)),
      Functions(Functions.begin(), Functions.end()) {}

PassAccess::PassAccess(HostedModule &H, LoopStandardAnalysisResults &Results,
                       Function &F)
    : LoopResults(&Results), H(H), Outer(std::exchange(H.Pass, this)) {
  Functions.insert(&F);
}

PassAccess::~PassAccess() { H.Pass = Outer; }

void HostedModule::changed(Function &F) {
  if (Pass) {
    Pass->Changed = true;
    Pass->ChangedFunctions.insert(&F);
    if (Pass->LoopResults)
      Pass->LoopResults->SE.forgetAllLoops();
  }
  if (FunctionAnalysisManager *FAM = cachedAnalyses())
    FAM->invalidate(F, PreservedAnalyses::none());
}

void HostedModule::erased(GlobalValue &G) {
  auto *F = dyn_cast<Function>(&G);
  if (Pass) {
    Pass->Changed = true;
    Pass->ChangedFunctions.erase(F);
  }
  if (FunctionAnalysisManager *FAM = F ? cachedAnalyses() : nullptr)
    FAM->clear(*F, F->getName());
}

void HostedModule::changed(GlobalValue &G) {
  if (Pass)
    Pass->Changed = true;
  if (auto *F = dyn_cast<Function>(&G))
    changed(*F);
  for (User *U : G.users())
    if (auto *I = dyn_cast<Instruction>(U))
      changed(*I->getFunction());
}

} // namespace passpilot
