// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "inline_pass.h"

#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

namespace passpilot {

bool InlinePass::configure(InlineSettings Chosen, std::string &Why) {
  Settings = std::move(Chosen);
  Simplify = std::make_shared<OpPassManager>();
  llvm::raw_string_ostream OS(Why);
  return succeeded(parsePassPipeline(Settings.Pipeline, *Simplify, OS));
}

bool InlinePass::canRun() {
  Operation *Root = getOperation();
  if (!Root->hasTrait<OpTrait::SymbolTable>()) {
    emitError(Root->getLoc())
        << "advised-inline: expected an operation with a symbol table, such as "
           "builtin.module, got "
        << Root->getName();
    return false;
  }
  struct Open : Pass { // opens a protected member of Pass
    using Pass::canScheduleOn;
  };
  bool (Pass::*const Takes)(RegisteredOperationName) const =
      &Open::canScheduleOn;
  for (CallGraphNode *Node : getAnalysis<CallGraph>()) {
    Operation *Function = Node->getCallableRegion()->getParentOp();
    std::optional<RegisteredOperationName> Name = Function->getRegisteredInfo();
    for (Pass &P : Simplify->getPasses())
      if (!Name || !(P.*Takes)(*Name)) { // MLIR would crash
        emitError(Function->getLoc())
            << "advised-inline: expected passes that run on "
            << Function->getName() << " as default-pipeline, got "
            << P.getArgument();
        return false;
      }
  }
  return true;
}

bool InlinePass::inlineAccepted(Session *S, Location &Where) {
  CallGraph &Graph = getAnalysis<CallGraph>();
  if (!S)
    return succeeded(inlineCalls(Graph, nullptr));
  Inlining Run(*S, getOperation(), Graph);
  bool Good = true;
  if (Settings.MarkFirst) {
    if (Run.markRefused())
      Good = succeeded(inlineCalls(Graph, nullptr));
    Inlining::unmarkAll(getOperation());
  } else {
    Good = succeeded(inlineCalls(Graph, &Run));
  }
  Where = Run.where();
  return Good;
}

LogicalResult InlinePass::inlineCalls(CallGraph &Graph, Inlining *Advised) {
  InlinerConfig Config;
  Config.setDefaultPipeline([this](OpPassManager &PM) {
    (void)parsePassPipeline(Settings.Pipeline, PM); // checked before
  });
  Config.setMaxInliningIterations(Settings.Iterations);
  if (Advised)
    Config.setCloneCallback([Advised, Clone = Config.getCloneCallback()](
                                OpBuilder &B, Region *Body, Block *Place,
                                Block *Behind, IRMapping &Map, bool Copy) {
      Advised->inlining(/*Moved=*/!Copy);
      Clone(B, Body, Place, Behind, Map, Copy);
    });
  auto Simplified = [this, Advised](Pass &, OpPassManager &PM, Operation *Op) {
    if (PM.empty())
      return success();
    const LogicalResult Result = runPipeline(PM, Op);
    if (Advised && succeeded(Result))
      Advised->simplified(Op);
    return Result;
  };
  auto Wanted = [Advised](const Inliner::ResolvedCall &Call) {
    return Advised ? Advised->wants(Call) : !Inlining::isMarked(Call.call);
  };
  Inliner Native(getOperation(), Graph, *this, getAnalysisManager(), Simplified,
                 Config, Wanted);
  return Native.doInlining();
}

} // namespace passpilot
