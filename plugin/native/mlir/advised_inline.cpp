// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `advised-inline`: MLIR's inliner, which asks a runner about each call.

#include "../loaded/advisor.h"
#include "../loaded/firewall.h"

#include "inline_point.h"
#include "legality.h"
#include "mlir_passes.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Inliner.h"

using namespace mlir;

namespace passpilot {

namespace {

/// One run: answers the inliner's questions and follows its changes.
class Inlining {
public:
  Inlining(Session &S, Operation *Root, const CallGraph &Graph)
      : S(S), Summary(Root, Graph), Legal(Root->getContext()),
        Where(Root->getLoc()) {}

  /// Called by MLIR's inliner: an exception fails the session.
  bool wants(const Inliner::ResolvedCall &Call) {
    Messages Told;
    bool Wanted = false;
    if (!contained(Told, [&] { Wanted = decide(Call); }))
      S.abandon(FailureKind::Model, Told.back().Text);
    return Wanted;
  }

  bool decide(const Inliner::ResolvedCall &Call) {
    Waiting = nullptr;
    FunctionSummary *Caller = Summary.find(Call.sourceNode);
    FunctionSummary *Callee = Summary.find(Call.targetNode);
    if (!Caller || !Callee || S.stopped())
      return false;
    Summary.reached(*Caller, *Callee);
    Summary.contents(*Callee);
    MLIRCallSite Site{Call.call, *Caller, *Callee};
    if (!Legal.allows(Site))
      return false;
    observe(Site, Summary, S);
    S.enterContext(Caller->Name);
    InlineQuestion Q(Site);
    const std::optional<Advice> Answer = S.ask(Q);
    if (!Answer)
      Where = Call.call->getLoc();
    if (!Answer || !Answer->Integer)
      return false;
    Waiting = Callee;
    Into = Caller;
    return true;
  }

  /// Called when the inliner inlines the call that was just decided.
  void inlining(bool Moved) {
    if (Waiting)
      Summary.inlined(*Waiting, *Into, Moved);
    Waiting = nullptr;
  }

  void simplified(Operation *Function) { Summary.simplified(Function); }

  /// The location of the call whose decision failed; else of the root.
  Location where() const { return Where; }

private:
  Session &S;
  CallGraphSummary Summary;
  Legality Legal;
  Location Where;
  FunctionSummary *Waiting = nullptr, *Into = nullptr;
};

class AdvisedInline final : public PassWrapper<AdvisedInline, OperationPass<>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(AdvisedInline)

  AdvisedInline() = default;
  AdvisedInline(const AdvisedInline &Other)
      : PassWrapper(Other), Simplify(Other.Simplify) {}

  StringRef getArgument() const override { return "advised-inline"; }
  StringRef getDescription() const override {
    return "Inline the calls that a runner of passpilot advises to inline";
  }
  LogicalResult
  initializeOptions(StringRef Text,
                    function_ref<LogicalResult(const Twine &)> Refuse) override;
  void runOnOperation() override;

private:
  Option<std::string> Runner{*this, "runner",
                             llvm::cl::desc("who decides, such as const:0, "
                                            "onnx:FILE, python:FILE:NAME"),
                             llvm::cl::init("default")};
  Option<std::string> Pipeline{
      *this, "default-pipeline",
      llvm::cl::desc("what simplifies each function before its calls are "
                     "looked at"),
      llvm::cl::init("canonicalize")};
  Option<unsigned> Iterations{
      *this, "max-iterations",
      llvm::cl::desc("how often the functions that call each other are "
                     "simplified and looked at"),
      llvm::cl::init(4)};
  Option<std::string> Log{*this, "log",
                          llvm::cl::desc("write every decision to a log")};
  Option<std::string> OnError{
      *this, "on-error",
      llvm::cl::desc("what a failing runner does: fail (the default), or "
                     "default, to inline"),
      llvm::cl::init("fail")};
  Option<double> Timeout{*this, "timeout",
                         llvm::cl::desc("seconds to wait for another process"),
                         llvm::cl::init(10.0)};
  std::shared_ptr<OpPassManager> Simplify; ///< the parsed Pipeline

  bool canSimplify(const CallGraph &Graph);
  void adviseCalls();
  LogicalResult inlineCalls(CallGraph &Graph, Inlining *Advised);
};

LogicalResult AdvisedInline::initializeOptions(
    StringRef Text, function_ref<LogicalResult(const Twine &)> Refuse) {
  if (failed(Pass::initializeOptions(Text, Refuse)))
    return failure();
  if (OnError != "fail" && OnError != "default")
    return Refuse("advised-inline: expected on-error=fail or on-error=default, "
                  "got '" +
                  OnError + "'");
  Simplify = std::make_shared<OpPassManager>();
  std::string Why;
  llvm::raw_string_ostream OS(Why);
  if (failed(parsePassPipeline(Pipeline, *Simplify, OS)))
    return Refuse("advised-inline: expected passes as default-pipeline, got '" +
                  Pipeline + "': " + StringRef(Why).trim());
  return success();
}

/// Refuses passes that cannot run on a function; MLIR would crash.
bool AdvisedInline::canSimplify(const CallGraph &Graph) {
  struct Open : Pass { // opens a protected member of Pass
    using Pass::canScheduleOn;
  };
  bool (Pass::*const Takes)(Operation *) const = &Open::canScheduleOn;
  for (CallGraphNode *Node : Graph) {
    Operation *Function = Node->getCallableRegion()->getParentOp();
    for (Pass &Each : Simplify->getPasses())
      if (!(Each.*Takes)(Function)) {
        emitError(Function->getLoc())
            << "advised-inline: expected passes that run on "
            << Function->getName() << " as default-pipeline, got "
            << Each.getArgument();
        return false;
      }
  }
  return true;
}

void AdvisedInline::runOnOperation() {
  Messages Told;
  if (contained(Told, [&] { adviseCalls(); }))
    return;
  emitMessages(Told, getOperation()->getLoc());
  signalPassFailure();
}

void AdvisedInline::adviseCalls() {
  Operation *Root = getOperation();
  if (!Root->hasTrait<OpTrait::SymbolTable>()) {
    emitError(Root->getLoc())
        << "advised-inline: expected an operation with a symbol table, such as "
           "builtin.module, got "
        << Root->getName();
    return signalPassFailure();
  }
  CallGraph &Graph = getAnalysis<CallGraph>();
  if (!canSimplify(Graph))
    return signalPassFailure();
  // If the default decides without a log, nothing reads the questions.
  if (Runner == "default" && Log.empty()) {
    if (failed(inlineCalls(Graph, nullptr)))
      signalPassFailure();
    return;
  }
  Messages Told;
  const AdvisorOptions Options{
      Runner,      Log,
      OnError,     Timeout,
      /*Limit=*/0, "there is no call that may be inlined"};
  auto Advised = makeAdvisor(Options, mlirInlinePoint(), Told);
  if (!emitMessages(Told, Root->getLoc()) || !Advised)
    return signalPassFailure();
  Inlining Run(Advised->session(), Root, Graph);
  const bool Good = succeeded(inlineCalls(Graph, &Run));
  Told.clear();
  Advised->finish(Good, Told);
  if (Good && neverAsked(Advised->session()))
    Told.push_back(unaskedWarning("mlir-inline", Options));
  if (!emitMessages(Told, Run.where()) || !Good)
    signalPassFailure();
}

LogicalResult AdvisedInline::inlineCalls(CallGraph &Graph, Inlining *Advised) {
  InlinerConfig Config;
  Config.setDefaultPipeline([this](OpPassManager &PM) {
    (void)parsePassPipeline(Pipeline, PM); // checked before
  });
  Config.setMaxInliningIterations(Iterations);
  if (Advised)
    Config.setCloneCallback([Advised, Clone = Config.getCloneCallback()](
                                OpBuilder &B, Region *Body, Block *Place,
                                Block *Behind, IRMapping &Map, bool Copy) {
      Advised->inlining(/*Moved=*/!Copy);
      Clone(B, Body, Place, Behind, Map, Copy);
    });
  auto Simplified = [this, Advised](Pass &, OpPassManager &PM, Operation *Op) {
    const LogicalResult Result = PM.empty() ? success() : runPipeline(PM, Op);
    if (Advised && succeeded(Result))
      Advised->simplified(Op);
    return Result;
  };
  auto Wanted = [Advised](const Inliner::ResolvedCall &Call) {
    return !Advised || Advised->wants(Call);
  };
  Inliner Native(getOperation(), Graph, *this, getAnalysisManager(), Simplified,
                 Config, Wanted);
  return Native.doInlining();
}

} // namespace

void registerAdvisedInline() {
  registerPass([] { return std::make_unique<AdvisedInline>(); });
}

bool emitMessages(const Messages &Told, Location Location) {
  bool Good = true;
  for (const Message &M : Told) {
    Good &= !M.isError();
    mlir::Location Place = Location;
    if (!M.File.empty())
      Place =
          FileLineColLoc::get(Location.getContext(), M.File, M.Line, M.Column);
    const DiagnosticSeverity Severity =
        M.isError()           ? DiagnosticSeverity::Error
        : M.Kind == "warning" ? DiagnosticSeverity::Warning
        : M.Kind == "note"    ? DiagnosticSeverity::Note
                              : DiagnosticSeverity::Remark;
    Location.getContext()->getDiagEngine().emit(Place, Severity) << M.Text;
  }
  return Good;
}

} // namespace passpilot
