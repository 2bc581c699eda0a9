// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM's default inlining decision for a call site, without its remarks:
// they would report a decision that the runner may overrule.

#pragma once

#include "llvm/Analysis/InlineAdvisor.h"
#include "llvm/Analysis/InlineCost.h"
#include "llvm/Analysis/OptimizationRemarkEmitter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

#include <memory>

namespace passpilot {

class DefaultDecision {
public:
  DefaultDecision(llvm::FunctionAnalysisManager &FAM,
                  llvm::InlineParams Params);

  struct Outcome {
    std::optional<llvm::InlineCost> Yes; ///< empty means no
    /// The cost was compared with a threshold, so that no attribute has
    /// decided alone.
    bool Weighed = false;
  };
  /// What the default inliner would decide for \p CB now.
  Outcome decide(llvm::CallBase &CB);

private:
  llvm::FunctionAnalysisManager &FAM;
  const llvm::InlineParams Params;
  const bool Deferral;
  // A function in a separate context that drops all remarks.
  llvm::LLVMContext Quiet;
  std::unique_ptr<llvm::Module> QuietModule;
  std::unique_ptr<llvm::OptimizationRemarkEmitter> QuietORE;
};

} // namespace passpilot
