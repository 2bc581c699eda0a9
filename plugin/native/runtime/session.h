// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One advisor of the user's during one compilation: its buffers, runner, log,
// error policy and counts. The compiler's hook asks it at each decision.
// Several hooks (two inliners in one pipeline, a register allocator per
// function) share one session.
//
// Lifetime: outlives every hook of the compilation; buffers never move.
// Threads: used by the compiling thread only.

#pragma once

#include "decision_log.h"
#include "point.h"
#include "runner.h"

#include <atomic>
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
  Default, ///< there is no default decision: a user's point failed
  Interrupt
};

/// A failure at a decision. If a Python exception caused it, whoever caught the
/// exception keeps it.
struct Failure {
  FailureKind Kind = FailureKind::None;
  std::string Text;   ///< what was expected and what came
  std::string Where;  ///< "decision 3 (main -> f, a.c:3:7)"
  bool Fatal = false; ///< the runner will never answer again
  explicit operator bool() const { return Kind != FailureKind::None; }
};

struct Counts {
  uint64_t Asked = 0;      ///< answered by the runner
  uint64_t Accepted = 0;   ///< ... with yes, or with a column to evict; no
                           ///< other choice has an answer that changes nothing
  uint64_t Agreed = 0;     ///< ... as the default would have
  uint64_t Compared = 0;   ///< answered while the default was known, too
  uint64_t Fallbacks = 0;  ///< taken by the default: the runner failed
  uint64_t NotAskable = 0; ///< taken by the default: LLVM computes no features
  uint64_t BudgetHits = 0; ///< taken by the default: over the budget
  double AskSeconds = 0;   ///< in the runner, custom features, log, checks and
                           ///< the compiler's note of the answer
  double DefaultSeconds = 0; ///< in the compiler's own decision, computed only
                             ///< if it is needed
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

/// A custom feature: the caller's code computes it into its buffer. On failure
/// it returns false and calls noteFailure().
struct CustomFeature {
  TensorSpec Spec;
  std::function<bool(void *Buffer)> Fill;
  /// Whether Fill may read the point's own features.
  bool ReadsOthers = true;
};

/// One decision, as the compiler's hook describes it.
class Question {
public:
  virtual ~Question() = default;
  /// The compiler's own decision; called at most once per question.
  virtual Advice defaultAdvice() = 0;
  /// Computes the features that nobody needs before the question; called at
  /// most once per question.
  virtual void describeRest() {}
  /// The texts stay valid until the next call.
  virtual DecisionPlace place() = 0;
  /// The IR of the "call", "caller" or "callee" as text; empty if the compiler
  /// shows Python the IR itself.
  virtual std::string irOf(const std::string &) { return ""; }
  /// The compiler gets this advice, the runner's or the default.
  virtual void answered(Advice) {}
  /// Why the mask forbids an advice that is in range.
  virtual std::string forbidden(Advice) { return ""; }
};

/// Decisions that do not depend on each other's advice.
struct QuestionBatch {
  std::vector<Question *> Questions;
  std::vector<std::string> Contexts; ///< per question
  std::vector<uint64_t> Features;    ///< one whole block per question
};

class Session {
public:
  /// \p Logged: whether setLog() will be called; all features are then bound.
  Session(const Point &P, std::shared_ptr<Runner> R,
          std::vector<CustomFeature> Custom, bool DefaultOnError, bool Logged);

  const Point &point() const { return ThePoint; }
  Runner &runner() { return *TheRunner; }
  /// The block starts with the runner's inputs, in the runner's order.
  const std::shared_ptr<TensorBlock> &block() const { return Block; }
  /// The specs of a log: features, default, decision.
  std::vector<TensorSpec> logSpecs() const;
  void setLog(DecisionLog *L) { Log = L; }
  /// Forgets the failure of the previous compilation.
  void restart();

  /// The buffer of the point's own feature \p I.
  void *feature(size_t I) { return FeatureBuffers[I]; }
  /// Whether the runner, a custom feature or the log may read feature \p I.
  bool reads(size_t I) const { return FeatureIsRead[I]; }
  /// Whether feature \p I must be there before the question; a runner may ask
  /// for others that it reads with describeRest().
  bool needs(size_t I) const { return FeatureIsNeeded[I]; }
  bool readsDefault() const { return DefaultBuffer != nullptr; }
  /// The mask of a Choice, int64[Count].
  int64_t *mask() { return Mask; }
  void switchContext(std::string_view Name);
  /// A compilation of the module that was made of the file \p Source begins.
  void begin(std::string_view Source) { TheRunner->begin(Source); }
  /// As switchContext(), unless this compilation is already in the context.
  void enterContext(const std::string &Name);
  /// Fails the session if the log so far cannot be written.
  void flushLog();

  /// Asks the runner; the point's features are in the buffers. Never
  /// throws: after a failure it returns the default, or nothing with
  /// failure() set. \p OverBudget: take the default without asking the
  /// runner.
  std::optional<Advice> ask(Question &Q, bool OverBudget = false);
  /// As ask() for each question in order, but in batches if the runner can.
  /// Returns fewer answers after a failure.
  std::vector<Advice> askAll(const QuestionBatch &B);

  /// The decision in progress; null between decisions, and on all threads but
  /// the compiling one, which does not wait for other threads.
  Question *current() const {
    return Asker == std::this_thread::get_id() ? Current.load() : nullptr;
  }
  uint64_t ordinal() const { return Ordinal; }
  /// The number of questions so far, with those that failed.
  uint64_t questions() const { return Questions; }
  /// The compiler's decision for current(), computed at most once.
  Advice defaultAdvice();
  /// Computes all features for current().
  void describeRest();
  /// The compiler increments this with every change of the IR, so that views
  /// know when their cached values are outdated.
  uint64_t Epoch = 0;
  /// The point's budget, 0 for none. For inline: the factor by which the module
  /// may grow. For evict: how often one live range may be evicted.
  double Limit = 0;

  /// Lets runners and features describe a failure. Returns false if an earlier
  /// failure stays.
  bool noteFailure(FailureKind K, std::string Text, bool Fatal = false);
  const Failure &failure() const { return TheFailure; }
  const Failure &firstFallback() const { return FirstFallback; }
  /// Called as soon as failure() is set; may be empty. What it throws joins
  /// the failure's text.
  std::function<void()> OnFailure;
  /// True once the runner must not be asked again and passes may be skipped.
  bool stopped() const { return Stopped; }
  /// The user wants the compilation to end.
  void interrupt();
  /// Fails the decision in progress and all later ones.
  void abandon(FailureKind K, std::string Text);

  passpilot::Counts Counts;

private:
  const Point &ThePoint;
  std::shared_ptr<Runner> TheRunner;
  std::vector<CustomFeature> Custom;
  std::vector<void *> CustomBuffers;
  std::shared_ptr<TensorBlock> Block; // shared with Python's views
  std::vector<const void *> RunnerInputs;
  std::vector<void *> FeatureBuffers;
  std::vector<bool> FeatureIsRead, FeatureIsNeeded;
  void *DefaultBuffer = nullptr; // set if the runner or the log reads it
  bool ReadsGiven = true; ///< the runner reads the point's features alone
  int64_t *Mask = nullptr;
  DecisionLog *Log = nullptr;

  // Threads of Python's may ask for current() while the compiling one, without
  // the GIL, begins and ends a decision.
  std::atomic<Question *> Current = nullptr;
  std::atomic<std::thread::id> Asker; ///< of Current
  std::optional<Advice> Default;
  bool HasRest = false; ///< whether describeRest() was called for Current
  std::optional<Advice> Foreseen; ///< the runner's answer, asked before
  uint64_t Ordinal = 0, Questions = 0;
  std::string Context;
  bool InContext = false; ///< whether this compilation has switched to it

  const bool DefaultOnError;
  bool Stopped = false, RunnerDead = false;
  Failure Pending, TheFailure, FirstFallback;

  Advice decide(bool OverBudget);
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
