// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM's own inlining decision for a call site, without its remarks: a remark
// must say what happened, not what would have.

#ifndef PASSPILOT_LLVM_DEFAULT_DECISION_H
#define PASSPILOT_LLVM_DEFAULT_DECISION_H

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

  /// What the default inliner would do with \p CB now; empty means no.
  std::optional<llvm::InlineCost> decide(llvm::CallBase &CB);

private:
  llvm::FunctionAnalysisManager &FAM;
  const llvm::InlineParams Params;
  const bool Deferral;
  // A function in a context where nobody listens to remarks.
  llvm::LLVMContext Quiet;
  std::unique_ptr<llvm::Module> QuietModule;
  std::unique_ptr<llvm::OptimizationRemarkEmitter> QuietORE;
};

} // namespace passpilot

#endif
