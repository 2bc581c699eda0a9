// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One inline advisor of the user's during one compilation: its buffers, its
// runner, its log, its error policy, its counts. LLVM may build several
// MLInlineAdvisors meanwhile (a pipeline with two inliners): they share it.
//
// Lifetime: outlives every advisor of the compilation; buffers never move.
// Threads: used by the compiling thread only.

#ifndef PASSPILOT_LLVM_INLINE_SESSION_H
#define PASSPILOT_LLVM_INLINE_SESSION_H

#include "../runtime/decision_log.h"
#include "../runtime/runner.h"
#include "llvm/Analysis/TensorSpec.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace llvm {
class CallBase;
}

namespace passpilot {

enum class FailureKind { None, Model, Python, Advice, Feature, Log, Interrupt };

/// What went wrong at a decision. A Python exception, if that is what it was,
/// stays with the one who caught it.
struct Failure {
  FailureKind Kind = FailureKind::None;
  std::string Text;   ///< what was expected and what came
  std::string Where;  ///< "decision 3 (main -> f, a.c:3:7)"
  bool Fatal = false; ///< the runner will never answer again
  explicit operator bool() const { return Kind != FailureKind::None; }
};

struct InlineCounts {
  uint64_t Asked = 0;      ///< answered by the runner
  uint64_t Accepted = 0;   ///< ... with yes
  uint64_t Fallbacks = 0;  ///< taken by the default, for want of an answer
  uint64_t NotAskable = 0; ///< taken by the default: LLVM computes no features
  uint64_t BudgetHits =
      0; ///< taken by the default: the module had grown too much
  double AskSeconds = 0; ///< in the runner, custom features and the log
  double DefaultSeconds =
      0; ///< in LLVM's own decision, where somebody wanted it
};

struct InlineConfig {
  bool DefaultOnError = false;
  /// Once the module has this many times its size at the start, in LLVM's count
  /// of instructions, the default decides; 0: no limit.
  double SizeBudget = 0;
};

/// A feature that is computed by the caller's code into its buffer. False on
/// failure, which it then describes by noteFailure().
struct CustomFeature {
  TensorSpec Spec;
  std::function<bool(void *Buffer)> Fill;
};

/// LLVM's own 38 inputs of the inliner, as passpilot specs.
const std::vector<TensorSpec> &inlineFeatures();
/// "inlining_decision" and "inlining_default".
const TensorSpec &inlineDecision();
const TensorSpec &inlineDefault();

class InlineSession {
public:
  /// \p Logged: whether setLog() will be called, which binds every feature.
  InlineSession(std::shared_ptr<Runner> R, std::vector<CustomFeature> Custom,
                InlineConfig C, bool Logged);

  Runner &runner() { return *TheRunner; }
  /// Starts with the runner's inputs, in the runner's order.
  const std::shared_ptr<TensorBlock> &block() const { return Block; }
  /// The specs of a log: features, default, decision.
  std::vector<TensorSpec> logSpecs() const;
  void setLog(DecisionLog *L) { Log = L; }
  /// Forgets the failure of the compilation before.
  void restart();

  void *feature(size_t I) { return FeatureBuffers[I]; }
  void switchContext(llvm::StringRef Name);

  /// Asks the runner about \p CB, whose LLVM features are in the buffers.
  /// \p Default gives LLVM's own decision. Never fails: after a failure the
  /// answers are no (and failure() is set), or the default's.
  /// \p OverBudget: do not ask the runner, take the default.
  bool ask(llvm::CallBase &CB, llvm::function_ref<bool()> Default,
           bool OverBudget);

  /// The decision in progress; null between decisions.
  llvm::CallBase *current() const { return Current; }
  uint64_t ordinal() const { return Ordinal; }
  /// LLVM's decision for current(), computed at most once.
  bool defaultDecision();
  /// Grows with every change of the IR by the inliner, so that views know when
  /// what they computed is out of date.
  uint64_t Epoch = 0;

  /// Called by runners and features that live elsewhere, to say more than
  /// false.
  /// False: another failure came first, and stays.
  bool noteFailure(FailureKind K, std::string Text, bool Fatal = false);
  const Failure &failure() const { return TheFailure; }
  const Failure &firstFallback() const { return FirstFallback; }
  /// True once nothing more shall be asked and passes may be skipped.
  bool stopped() const { return Stopped; }
  /// The user wants the compilation to end.
  void interrupt();

  InlineConfig Config;
  InlineCounts Counts;

private:
  std::shared_ptr<Runner> TheRunner;
  std::vector<CustomFeature> Custom;
  std::vector<void *> CustomBuffers;
  std::shared_ptr<TensorBlock> Block; // shared with the views that Python keeps
  std::vector<const void *> RunnerInputs;
  std::vector<void *> FeatureBuffers;
  int64_t *DefaultBuffer = nullptr; // set if the runner or the log wants it
  DecisionLog *Log = nullptr;

  llvm::CallBase *Current = nullptr;
  llvm::function_ref<bool()> AskDefault;
  std::optional<bool> Default;
  uint64_t Ordinal = 0;
  std::string Context;

  bool Stopped = false, RunnerDead = false;
  Failure Pending, TheFailure, FirstFallback;

  void fillFeatures();
  bool question(int64_t &Answer);
  bool settleFailure();
  bool writeLog(int64_t Answer);
  std::string where() const;
};

} // namespace passpilot

#endif
