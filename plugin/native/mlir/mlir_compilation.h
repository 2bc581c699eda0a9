// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the passes of one pipeline share: the advisors that the tool's flags
// name. It begins with the first of our passes and ends when MLIR destroys the
// last of them, which is after the output has been printed.

#pragma once

#include "mlir_calls.h"
#include "mlir_flags.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"

#include <atomic>
#include <memory>

namespace passpilot {

class MLIRCompilation {
public:
  /// The compilation of a context; the passes keep it alive. Call this in
  /// Pass::initialize(). Returns null after an error, which it emits.
  static std::shared_ptr<MLIRCompilation> of(mlir::MLIRContext *Context);
  ~MLIRCompilation();
  MLIRCompilation(const MLIRCompilation &) = delete;

  /// The advisor of `mlir-inline`; null if the flags name none.
  Advisor *inliner() { return Inliner.get(); }
  /// Reports the failure of inliner() at once.
  void failInliner(Messages &Report);
  /// Identifies the compilation in Python; 0 if the flags advise no pass in
  /// Python.
  size_t number() const { return Number; }
  /// A pass in Python has failed: MLIR goes on with other functions, but the
  /// compilation is over.
  std::atomic<bool> PassFailed = false;

private:
  explicit MLIRCompilation(mlir::MLIRContext *Context) : Context(Context) {}

  mlir::MLIRContext *const Context;
  AdvisorOptions InlinerOptions;
  std::unique_ptr<Advisor> Inliner;
  bool Finished = false; ///< the inliner's advisor has reported
  size_t Number = 0;
  std::atomic<bool> Failed = false; ///< an error has been emitted
  mlir::DiagnosticEngine::HandlerID Handler = 0;

  bool begin();
  bool add(const Advised &A, Messages &Report);
  void end(Messages &Report);
};

/// Whether a pass of ours has run in this process.
bool compilationBegun();

} // namespace passpilot
