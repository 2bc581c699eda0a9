// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM's ML inline advisor, rebuilt around passpilot's sessions. It asks about
// the same call sites as llvm::MLInlineAdvisor with the same values, but it
// computes only the features that are read.

#pragma once

#include "../runtime/session.h"
#include "default_decision.h"
#include "inline_books.h"
#include "profile_gate.h"
#include "llvm/Analysis/InlineAdvisor.h"
#include "llvm/Analysis/InlineModelFeatureMaps.h"
#include "llvm/Analysis/ProfileSummaryInfo.h"

namespace passpilot {

class InlineAdvisor final : public llvm::InlineAdvisor {
public:
  InlineAdvisor(llvm::Module &M, llvm::ModuleAnalysisManager &MAM,
                llvm::InlineParams Params, passpilot::Session &S);

  void onPassEntry(llvm::LazyCallGraph::SCC *SCC) override;
  void onPassExit(llvm::LazyCallGraph::SCC *SCC) override;

  /// An advice recommends this inlining.
  void expectInlining(llvm::Function &Caller, llvm::Function &Callee);
  void onInlining(llvm::Function &Caller, llvm::Function &Callee,
                  bool CalleeWasDeleted);

protected:
  std::unique_ptr<llvm::InlineAdvice>
  getAdviceImpl(llvm::CallBase &CB) override;
  std::unique_ptr<llvm::InlineAdvice> getMandatoryAdvice(llvm::CallBase &CB,
                                                         bool Advice) override;

private:
  passpilot::Session &Session;
  DefaultDecision Default;
  llvm::ProfileSummaryInfo &PSI;
  const bool Remarked; ///< remarks show all features
  const InlineReads Reads;
  const bool NeedsCostParts, NeedsCost, NeedsFunctions;
  InlineBooks Books;
  const double GrowthLimit; ///< LLVM's, if the user has set it; or 0
  bool ForceStop = false;

  bool reads(std::initializer_list<llvm::FeatureIndex> Any) const;
  bool needs(std::initializer_list<llvm::FeatureIndex> Any) const;
  bool needsCostParts() const;
  bool needsFunctions() const;
  InlineReads findReads() const;
  /// Computes LLVM's cost analysis as far as it is needed. Returns false if it
  /// finds that the call cannot be inlined.
  bool analyze(llvm::CallBase &CB, bool Mandatory);
  bool mayRefuse(llvm::CallBase &CB);
  bool estimateCost(llvm::CallBase &CB);
  bool countCostParts(llvm::CallBase &CB);
  void describe(llvm::CallBase &CB);
  void describeFunctions(llvm::CallBase &CB);
  void describeRest(llvm::CallBase &CB);
  void set(llvm::FeatureIndex Feature, int64_t Value) {
    const auto I = static_cast<size_t>(Feature);
    *static_cast<int64_t *>(Session.feature(I)) = Value;
  }
  using Outcome = std::optional<DefaultDecision::Outcome>;
  /// The default's decision if the session reads it, before anything is asked.
  Outcome decideEarly(llvm::CallBase &CB);
  std::unique_ptr<llvm::InlineAdvice> askSession(llvm::CallBase &CB,
                                                 const Outcome &Early);
  std::unique_ptr<llvm::InlineAdvice> askDefault(llvm::CallBase &CB,
                                                 const Outcome &Early = {});
};

/// Makes \p Inline the inline advisor of \p M's compilation on this thread
/// while the object lives. LLVM's factory of inline advisors is a plain
/// function of the module, so the compilation is looked up by module and
/// thread. A policy may compile another module on the same thread meanwhile.
/// LLVM's default decides in front of \p Gate, and in the inliner that prepares
/// the counting.
class Compilation {
public:
  Compilation(llvm::Module &M, llvm::ModuleAnalysisManager &MAM,
              passpilot::Session &Inline, std::shared_ptr<ProfileGate> Gate);
  ~Compilation();
  Compilation(const Compilation &) = delete;

  /// Whether an inliner has asked for advice.
  bool reached() const { return HasReached; }

  /// LLVM's factory of inline advisors; LLVM's default for a module without a
  /// Compilation.
  static llvm::InlineAdvisor *advisor(llvm::Module &M,
                                      llvm::FunctionAnalysisManager &FAM,
                                      llvm::InlineParams Params,
                                      llvm::InlineContext Context);

private:
  llvm::Module &M;
  bool HasReached = false;
};

} // namespace passpilot
