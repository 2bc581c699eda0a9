// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `advised-inline`: MLIR's inliner, which asks a runner about each call.

#include "../loaded/firewall.h"
#include "../runtime/text.h"

#include "inline_pass.h"
#include "mlir_compilation.h"
#include "mlir_passes.h"

#include "mlir/Pass/PassRegistry.h"

#include <cmath>

using namespace mlir;

namespace passpilot {

namespace {

class AdvisedInline final : public PassWrapper<AdvisedInline, InlinePass> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(AdvisedInline)

  AdvisedInline() = default;
  AdvisedInline(const AdvisedInline &Other)
      : PassWrapper(Other), Shared(Other.Shared) {}

  StringRef getArgument() const override { return "advised-inline"; }
  StringRef getDescription() const override {
    return "Inline the calls that a runner of passpilot advises to inline";
  }
  LogicalResult
  initializeOptions(StringRef Text,
                    function_ref<LogicalResult(const Twine &)> Refuse) override;
  LogicalResult initialize(MLIRContext *Context) override;
  void runOnOperation() override;

private:
  // The options of passes/mlir/inline.py.
  Option<std::string> Runner{*this, "runner",
                             llvm::cl::desc("who decides in this pass, such as "
                                            "const:0, python:FILE:NAME")};
  Option<std::string> Engine{
      *this, "engine",
      llvm::cl::desc("bottom-up: decide about one call at a time; "
                     "mark-and-run: take all decisions first"),
      llvm::cl::init("bottom-up")};
  Option<std::string> Pipeline{
      *this, "default-pipeline",
      llvm::cl::desc("what simplifies each function before its calls are "
                     "looked at; none: nothing"),
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
  std::shared_ptr<MLIRCompilation> Shared;

  std::string wrongOption() const;
  void adviseCalls();
};

/// What is wrong with an option's value; empty if nothing is.
std::string AdvisedInline::wrongOption() const {
  if (Engine != "bottom-up" && Engine != "mark-and-run")
    return "expected bottom-up|mark-and-run for engine, got '" + Engine + "'";
  if (OnError != "fail" && OnError != "default")
    return "expected fail|default for on-error, got '" + OnError + "'";
  if (!std::isfinite(Timeout) || Timeout <= 0)
    return "expected a timeout above 0, got " + std::to_string(Timeout);
  if (Runner.empty() && (!Log.empty() || OnError != "fail" || Timeout != 10.0))
    return "expected a runner with log, on-error and timeout, got none; add "
           "runner=default";
  return "";
}

LogicalResult AdvisedInline::initializeOptions(
    StringRef Text, function_ref<LogicalResult(const Twine &)> Refuse) {
  if (failed(Pass::initializeOptions(Text, Refuse)))
    return failure();
  if (const std::string Wrong = wrongOption(); !Wrong.empty())
    return Refuse("pass advised-inline: " + Wrong);
  const std::string Simplify = Pipeline == "none" ? "" : Pipeline.getValue();
  std::string Why;
  if (!configure({Engine == "mark-and-run", Simplify, Iterations}, Why))
    return Refuse("advised-inline: expected passes as default-pipeline, got '" +
                  Pipeline + "': " + StringRef(Why).trim());
  return success();
}

LogicalResult AdvisedInline::initialize(MLIRContext *Context) {
  Shared = MLIRCompilation::of(Context);
  return success(Shared != nullptr);
}

void AdvisedInline::runOnOperation() {
  if (!runContained(getOperation(), [&] { adviseCalls(); }))
    signalPassFailure();
}

void AdvisedInline::adviseCalls() {
  if (!canRun())
    return signalPassFailure();
  Location Where = getOperation()->getLoc();
  Messages Report;
  bool Good = false;
  if (Runner.empty() && Shared->inliner()) {
    Good = inlineAccepted(&Shared->inliner()->session(), Where);
    if (Shared->inliner()->session().stopped())
      Shared->failInliner(Report);
  } else if (Log.empty() && (Runner.empty() || Runner == "default")) {
    // The default decides without a log: nothing reads the questions.
    Good = inlineAccepted(nullptr, Where);
  } else {
    const AdvisorOptions Options{
        Runner,      Log,
        OnError,     Timeout,
        /*Limit=*/0, "there is no call that may be inlined"};
    auto Own = makeAdvisor(Options, mlirInlinePoint(), Report);
    if (!emitMessages(Report, Where) || !Own)
      return signalPassFailure();
    Good = inlineAccepted(&Own->session(), Where);
    Report.clear();
    Own->finish(Good, Report);
    if (Good && neverAsked(Own->session()))
      Report.push_back(unaskedWarning(mlirInlinePoint().Name, Options));
  }
  if (!emitMessages(Report, Where) || !Good)
    signalPassFailure();
}

} // namespace

void registerAdvisedInline() {
  registerPass([] { return std::make_unique<AdvisedInline>(); });
}

bool runContained(Operation *Op, function_ref<void()> Body) {
  Messages Report;
  return contained(Report, Body) || emitMessages(Report, Op->getLoc());
}

bool emitMessages(const Messages &Report, Location Location) {
  bool Good = true;
  for (const Message &M : Report) {
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
    Location.getContext()->getDiagEngine().emit(Place, Severity)
        << shown(M.Text);
  }
  return Good;
}

} // namespace passpilot
