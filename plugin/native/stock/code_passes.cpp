// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "code_passes.h"

#include "../llvm/llvm_options.h"
#include "../llvm/points.h"
#include "flags.h"
#include "host.h"
#include "stock_passes.h"
#include "llvm/Analysis/CGSCCPassManager.h"
#include "llvm/Analysis/LoopAnalysisManager.h"
#include "llvm/Passes/PassBuilder.h"

using namespace llvm;

namespace passpilot {

/// The pipeline text of the passes that are advised; empty if none is.
static std::string textOfAdvised() {
  std::string Text;
  for (const EmitPass &P : emitPasses())
    if (advised(P.Point))
      Text += (Text.empty() ? "" : ",") + std::string(P.Text);
  return Text;
}

void prepareCodePasses() {
  if (advised("advised-outliner"))
    outlineInAllFunctions();
}

static Error runPasses(Module &M, StringRef Text, Messages &Told) {
  PassInstrumentationCallbacks PIC;
  LoopAnalysisManager LAM;
  FunctionAnalysisManager FAM;
  CGSCCAnalysisManager CGAM;
  ModuleAnalysisManager MAM;
  PassBuilder PB(nullptr, {}, std::nullopt, &PIC);
  auto Made = StockPasses::registerWith(PB, PassStage::CodeGeneration);
  if (!Made)
    return Made.takeError();
  StockPasses &Passes = **Made;
  PB.registerModuleAnalyses(MAM);
  PB.registerCGSCCAnalyses(CGAM);
  PB.registerFunctionAnalyses(FAM);
  PB.registerLoopAnalyses(LAM);
  PB.crossRegisterProxies(LAM, FAM, CGAM, MAM);
  ModulePassManager PM;
  if (Error E = Passes.parse(PB, PM, Text))
    return E;
  Passes.begin(M);
  PM.run(M, MAM);
  Passes.end(!Passes.failed(), Told);
  return Error::success();
}

void runCodePasses(Module &M) {
  const std::string Text = textOfAdvised();
  if (Text.empty() || hasFailed())
    return;
  contained(M.getContext(), [&](Messages &Told) {
    if (Error E = runPasses(M, Text, Told))
      Told.push_back({"error", toString(std::move(E))});
  });
}

} // namespace passpilot
