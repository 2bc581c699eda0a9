// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "loop_copy.h"

#include "llvm/Analysis/ProfileSummaryInfo.h"
#include "llvm/IR/DiagnosticHandler.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/LoopRotation.h"

using namespace llvm;

namespace passpilot {

namespace {

/// Passes remarks on and drops all other diagnostics. It reports the remarks of
/// single passes as disabled, although they arrive: otherwise LLVM analyzes
/// loops without a preheader, as behind a computed jump, and crashes.
class RemarkReader final : public DiagnosticHandler {
public:
  explicit RemarkReader(std::function<void(const OptimizationRemark &)> &To)
      : To(To) {}
  bool isAnyRemarkEnabled() const override { return true; }
  bool isPassedOptRemarkEnabled(StringRef) const override { return false; }
  bool isMissedOptRemarkEnabled(StringRef) const override { return false; }
  bool isAnalysisRemarkEnabled(StringRef) const override { return false; }

  bool handleDiagnostics(const DiagnosticInfo &DI) override {
    if (auto *R = dyn_cast<OptimizationRemark>(&DI); R && To)
      To(*R);
    return true;
  }

private:
  std::function<void(const OptimizationRemark &)> &To;
};

} // namespace

LoopCopy::LoopCopy(Function &F, TargetMachine *TM) : Copy(F), PB(TM) {
  Copy.context().setDiagnosticHandler(std::make_unique<RemarkReader>(OnRemark));
  PB.registerModuleAnalyses(MAM);
  PB.registerCGSCCAnalyses(CGAM);
  PB.registerFunctionAnalyses(FAM);
  PB.registerLoopAnalyses(LAM);
  PB.crossRegisterProxies(LAM, FAM, CGAM, MAM);
  MAM.getResult<ProfileSummaryAnalysis>(Copy.module());
  prepareLoops();
}

/// LLVM's passes do not invalidate the loops here, so that they keep their
/// identities when their headers change.
void LoopCopy::prepareLoops() {
  Function &F = function();
  DenseMap<const BasicBlock *, size_t> Places;
  for (const BasicBlock &B : F)
    Places[&B] = Places.size();
  DenseMap<const Loop *, size_t> PlaceOf;
  for (const Loop *L : loops().getLoopsInPreorder())
    PlaceOf[L] = Places.lookup(L->getHeader());
  FunctionPassManager PM;
  PM.addPass(createFunctionToLoopPassAdaptor(LoopRotatePass(!F.hasMinSize())));
  PM.run(F, FAM);
  for (Loop *L : loops().getLoopsInPreorder())
    if (const auto Place = PlaceOf.find(L);
        Place != PlaceOf.end() && L->isInnermost() && L->isLoopSimplifyForm())
      Innermost.emplace_back(Place->second, L);
}

} // namespace passpilot
