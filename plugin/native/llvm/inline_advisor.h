// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM's ML inline advisor, answered by passpilot. LLVM computes the features,
// checks legality and updates its counters; the session answers.

#ifndef PASSPILOT_LLVM_INLINE_ADVISOR_H
#define PASSPILOT_LLVM_INLINE_ADVISOR_H

#include "../runtime/session.h"
#include "default_decision.h"
#include "llvm/Analysis/MLInlineAdvisor.h"

namespace passpilot {

class InlineAdvisor final : public llvm::MLInlineAdvisor {
public:
  InlineAdvisor(llvm::Module &M, llvm::ModuleAnalysisManager &MAM,
                llvm::InlineParams Params, passpilot::Session &S);

  void onPassEntry(llvm::LazyCallGraph::SCC *SCC) override;
  void onPassExit(llvm::LazyCallGraph::SCC *SCC) override;
  /// Updates the counters after an inlining that LLVM's ML advisor did not
  /// propose, such as a call in an unreachable block.
  void onUnaskedInlining(llvm::Function &Caller, llvm::Function &Callee,
                         int64_t EdgesBefore, int64_t SizeBefore,
                         bool CalleeWasDeleted);

protected:
  std::unique_ptr<llvm::InlineAdvice>
  getAdviceImpl(llvm::CallBase &CB) override;
  std::unique_ptr<llvm::MLInlineAdvice>
  getAdviceFromModel(llvm::CallBase &CB,
                     llvm::OptimizationRemarkEmitter &ORE) override;

private:
  passpilot::Session &Session;
  DefaultDecision Default;
  llvm::LazyCallGraph &CG;
  bool Asked = false;

  bool overBudget();
};

} // namespace passpilot

#endif
