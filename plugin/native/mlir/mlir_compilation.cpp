// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mlir_compilation.h"

#include "../loaded/firewall.h"

#include "inline_point.h"
#include "mlir_passes.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

#include <mutex>

using namespace mlir;

namespace passpilot {

namespace {

std::mutex Mutex; ///< for All
llvm::DenseMap<MLIRContext *, std::weak_ptr<MLIRCompilation>> All;
std::atomic<bool> Begun = false; ///< there has been a compilation

/// Whether the process is mlir-opt or another tool of MlirOptMain(), which has
/// this option. A program that embeds MLIR is not ours to end: errors are
/// diagnostics of its context.
bool isCommandLineTool() {
  return llvm::cl::getRegisteredOptions().contains("split-input-file");
}

} // namespace

bool compilationBegun() { return Begun; }

std::shared_ptr<MLIRCompilation> MLIRCompilation::of(MLIRContext *Context) {
  const auto Known = [Context]() -> std::weak_ptr<MLIRCompilation> & {
    return All[Context];
  };
  {
    std::lock_guard<std::mutex> Lock(Mutex);
    if (auto C = Known().lock())
      return C;
  }
  std::shared_ptr<MLIRCompilation> C(new MLIRCompilation(Context));
  Begun = true;
  if (advises() && !C->begin())
    return nullptr;
  std::lock_guard<std::mutex> Lock(Mutex);
  Known() = C;
  return C;
}

/// Starts the advisors.
bool MLIRCompilation::begin() {
  Context->disableMultithreading(); // so that the order of decisions is fixed
  Handler = Context->getDiagEngine().registerHandler([this](Diagnostic &D) {
    if (D.getSeverity() == DiagnosticSeverity::Error)
      Failed = true;
    return failure(); // the tool's own handler reports it
  });
  Messages Report;
  contained(Report, [&] {
    if (const auto Points = advisedPoints(Report))
      for (const Advised &A : *Points)
        if (!add(A, Report))
          break;
  });
  return emitMessages(Report, UnknownLoc::get(Context));
}

bool MLIRCompilation::add(const Advised &A, Messages &Report) {
  const AdvisorOptions &O = A.Options;
  if (A.Point == mlirInlinePoint().Name) {
    InlinerOptions = O;
    if (O.Runner != "default" || !O.Log.empty())
      Inliner = makeAdvisor(O, mlirInlinePoint(), Report);
    return Report.empty();
  }
  static std::atomic<size_t> Numbers = 0;
  if (!Number)
    Number = ++Numbers;
  if (const auto *Calls = python<MLIRCalls>(Report))
    Calls->Advise(&Report, Number, A.Point.c_str(), O.Runner.c_str(),
                  O.Log.c_str(), O.OnError.c_str(), O.Timeout);
  return Report.empty();
}

void MLIRCompilation::failInliner(Messages &Report) {
  Inliner->finish(true, Report);
  Finished = true;
}

void MLIRCompilation::end(Messages &Report) {
  const bool Good = !Failed;
  if (Inliner && !Finished) {
    Inliner->finish(Good, Report);
    if (Good && neverAsked(Inliner->session()))
      Report.push_back(unaskedWarning(mlirInlinePoint().Name, InlinerOptions));
    if (Good && statsWanted())
      llvm::errs() << report(Inliner->session(), InlinerOptions.Runner);
  }
  if (Number)
    if (const auto *Calls = python<MLIRCalls>(Report))
      Calls->EndPasses(&Report, Number, Good, statsWanted());
}

MLIRCompilation::~MLIRCompilation() {
  {
    std::lock_guard<std::mutex> Lock(Mutex);
    All.erase(Context);
  }
  if (!Handler)
    return;
  Context->getDiagEngine().eraseHandler(Handler);
  Messages Report;
  contained(Report, [&] { end(Report); });
  if (!emitMessages(Report, UnknownLoc::get(Context)) && !Failed &&
      isCommandLineTool()) {
    // The tool takes the compilation for a success, and is about to keep the
    // output; no interface of MLIR's tells it of an error now.
    llvm::sys::RunInterruptHandlers();
    std::exit(1);
  }
}

} // namespace passpilot
