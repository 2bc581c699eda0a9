// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MLIR's inliner as a pass that asks a session about each call. The plugin for
// stock mlir-opt and the engine for MLIR's Python bindings derive their passes
// from it.

#pragma once

#include "inline_questions.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

namespace passpilot {

/// The options that decide what is inlined.
struct InlineSettings {
  bool MarkFirst = false;  ///< engine=mark-and-run
  std::string Pipeline;    ///< simplifies each function; may be empty
  unsigned Iterations = 4; ///< of simplifying and inlining
};

class InlinePass : public mlir::OperationPass<> {
protected:
  using OperationPass::OperationPass;

  /// Call this once the settings are known. Returns false, with \p Why set, if
  /// MLIR cannot parse the pipeline.
  bool configure(InlineSettings Chosen, std::string &Why);
  /// Emits an error and returns false if the operation cannot have calls
  /// inlined, or the pipeline cannot run on its functions.
  bool canRun();
  /// Inlines what the session accepts; everything legal without one. \p Where
  /// becomes the place of a failure.
  bool inlineAccepted(Session *S, mlir::Location &Where);

private:
  InlineSettings Settings;
  std::shared_ptr<mlir::OpPassManager> Simplify; ///< the parsed pipeline

  mlir::LogicalResult inlineCalls(mlir::CallGraph &Graph, Inlining *Advised);
};

} // namespace passpilot
