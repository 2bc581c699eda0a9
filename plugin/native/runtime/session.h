// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One advisor of the user's during one compilation: its buffers, its runner,
// its log, its error policy, its counts. The compiler's hook asks it once per
// decision; the hook may be built several times meanwhile (a pipeline with two
// inliners, a register allocator per function): they share the session.
//
// Lifetime: outlives every hook of the compilation; buffers never move.
// Threads: used by the compiling thread only.

#ifndef PASSPILOT_RUNTIME_SESSION_H
#define PASSPILOT_RUNTIME_SESSION_H

#include "decision_log.h"
#include "point.h"
#include "runner.h"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

namespace passpilot {

enum class FailureKind {
  None,
  Model,
  Python,
  Advice,
  Feature,
  Log,
  Default, ///< there is no default decision: a user's point has failed
  Interrupt
};

/// What went wrong at a decision. A Python exception, if that is what it was,
/// stays with the one who caught it.
struct Failure {
  FailureKind Kind = FailureKind::None;
  std::string Text;   ///< what was expected and what came
  std::string Where;  ///< "decision 3 (main -> f, a.c:3:7)"
  bool Fatal = false; ///< the runner will never answer again
  explicit operator bool() const { return Kind != FailureKind::None; }
};

struct Counts {
  uint64_t Asked = 0;      ///< answered by the runner
  uint64_t Accepted = 0;   ///< ... with yes, or with a column to evict
  uint64_t Agreed = 0;     ///< ... as the default, where somebody wanted that
  uint64_t Compared = 0;   ///< answered where the default was known as well
  uint64_t Fallbacks = 0;  ///< taken by the default, for want of an answer
  uint64_t NotAskable = 0; ///< taken by the default: LLVM computes no features
  uint64_t BudgetHits = 0; ///< taken by the default: over the budget
  double AskSeconds = 0;   ///< in the runner, custom features, log and checks
  double DefaultSeconds = 0; ///< in LLVM's own decision, where somebody wanted
                             ///< it
};

class Stopwatch {
public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() -
                                         Start)
        .count();
  }

private:
  const std::chrono::steady_clock::time_point Start =
      std::chrono::steady_clock::now();
};

/// A feature that is computed by the caller's code into its buffer. False on
/// failure, which it then describes by noteFailure().
struct CustomFeature {
  TensorSpec Spec;
  std::function<bool(void *Buffer)> Fill;
};

/// One decision, as the hook that has come to it knows it.
class Question {
public:
  virtual ~Question() = default;
  /// The compiler's own decision; called at most once per question.
  virtual Advice defaultAdvice() = 0;
  /// The texts stay valid until the next call.
  virtual DecisionPlace place() = 0;
  /// What is wrong with an advice within the range that the mask forbids.
  virtual std::string forbidden(Advice) { return ""; }
};

/// Decisions of which none depends on the advice on another.
struct QuestionBatch {
  std::vector<Question *> Questions;
  std::vector<std::string> Contexts; ///< of each
  std::vector<uint64_t> Features;    ///< the whole block, once for each
};

class Session {
public:
  /// \p Logged: whether setLog() will be called, which binds every feature.
  Session(const Point &P, std::shared_ptr<Runner> R,
          std::vector<CustomFeature> Custom, bool DefaultOnError, bool Logged);

  const Point &point() const { return ThePoint; }
  Runner &runner() { return *TheRunner; }
  /// Starts with the runner's inputs, in the runner's order.
  const std::shared_ptr<TensorBlock> &block() const { return Block; }
  /// The specs of a log: features, default, decision.
  std::vector<TensorSpec> logSpecs() const;
  void setLog(DecisionLog *L) { Log = L; }
  /// Forgets the failure of the compilation before.
  void restart();

  /// The buffer of the point's own feature \p I.
  void *feature(size_t I) { return FeatureBuffers[I]; }
  /// The mask of a Choice, int64[Count].
  int64_t *mask() { return Mask; }
  void switchContext(std::string_view Name);
  /// Likewise, unless this compilation is in this context.
  void enterContext(const std::string &Name);
  /// Fails if what was logged until now cannot be written.
  void flushLog();

  /// Asks the runner, with the point's features in the buffers. Never fails:
  /// after a failure the answers are the default's, or nothing, and failure()
  /// is set.
  /// \p OverBudget: do not ask the runner, take the default.
  std::optional<Advice> ask(Question &Q, bool OverBudget = false);
  /// As ask() for one after the other, but the runner is asked about several at
  /// once if it can answer them so. Answers fewer after a failure.
  std::vector<Advice> askAll(const QuestionBatch &B);

  /// The decision in progress; null between decisions, and for all threads but
  /// the one that compiles, which does not wait for them.
  Question *current() const {
    return Asker == std::this_thread::get_id() ? Current : nullptr;
  }
  uint64_t ordinal() const { return Ordinal; }
  /// The compiler's decision for current(), computed at most once.
  Advice defaultAdvice();
  /// Grows with every change of the IR by the compiler, so that views know when
  /// what they computed is out of date.
  uint64_t Epoch = 0;
  /// The point's budget; 0: none. Of inline: how many times its size the module
  /// may reach. Of evict: how often one live range may be evicted.
  double Limit = 0;

  /// Called by runners and features that live elsewhere, to say more than
  /// false. False: another failure came first, and stays.
  bool noteFailure(FailureKind K, std::string Text, bool Fatal = false);
  const Failure &failure() const { return TheFailure; }
  const Failure &firstFallback() const { return FirstFallback; }
  /// Called at once when failure() is set, if anybody wants to know.
  std::function<void()> OnFailure;
  /// True once nothing more shall be asked and passes may be skipped.
  bool stopped() const { return Stopped; }
  /// The user wants the compilation to end.
  void interrupt();
  /// Ends the decision in progress, and all others, without an answer.
  void abandon(FailureKind K, std::string Text);

  passpilot::Counts Counts;

private:
  const Point &ThePoint;
  std::shared_ptr<Runner> TheRunner;
  std::vector<CustomFeature> Custom;
  std::vector<void *> CustomBuffers;
  std::shared_ptr<TensorBlock> Block; // shared with the views that Python keeps
  std::vector<const void *> RunnerInputs;
  std::vector<void *> FeatureBuffers;
  void *DefaultBuffer = nullptr; // set if the runner or the log wants it
  bool ReadsGiven = true; ///< the runner reads the point's features alone
  int64_t *Mask = nullptr;
  DecisionLog *Log = nullptr;

  Question *Current = nullptr;
  std::thread::id Asker; ///< of Current
  std::optional<Advice> Default;
  std::optional<Advice> Foreseen; ///< the runner's answer, asked before
  uint64_t Ordinal = 0;
  std::string Context;
  bool InContext = false; ///< whether this compilation has switched to it

  const bool DefaultOnError;
  bool Stopped = false, RunnerDead = false;
  Failure Pending, TheFailure, FirstFallback;

  void fillFeatures();
  size_t together(const QuestionBatch &B, size_t First) const;
  std::vector<Advice> foresee(const char *Features, size_t Count);
  bool question(Advice &Answer);
  void countAnswer(Advice Answer);
  void fail(Failure F);
  bool settleFailure(bool MayFallBack);
  bool writeLog(Advice Answer);
  std::string where() const;
};

} // namespace passpilot

#endif
