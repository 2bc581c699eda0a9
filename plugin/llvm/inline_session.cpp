// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "inline_session.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/Analysis/InlineModelFeatureMaps.h"
#include "llvm/Analysis/MLInlineAdvisor.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/InstrTypes.h"

#include <chrono>
#include <cstring>

using namespace llvm;

namespace passpilot {

static TensorSpec fromLLVM(const llvm::TensorSpec &S) {
  return {S.name(), static_cast<ScalarType>(S.type()), S.shape()};
}

const std::vector<TensorSpec> &inlineFeatures() {
  static const std::vector<TensorSpec> Features = [] {
    std::vector<TensorSpec> V;
    for (const llvm::TensorSpec &S : MLInlineAdvisor::getInitialFeatureMap())
      V.push_back(fromLLVM(S));
    return V;
  }();
  return Features;
}

const TensorSpec &inlineDecision() {
  static const TensorSpec S = fromLLVM(InlineDecisionSpec);
  return S;
}

const TensorSpec &inlineDefault() {
  static const TensorSpec S = fromLLVM(DefaultDecisionSpec);
  return S;
}

static const TensorSpec *find(const std::vector<TensorSpec> &Specs,
                              const std::string &Name) {
  for (const TensorSpec &S : Specs)
    if (S.Name == Name)
      return &S;
  return nullptr;
}

/// The block's layout: the runner's inputs in its order, so that they are one
/// contiguous frame, then what only LLVM or the log writes.
static std::vector<TensorSpec>
layOut(const Runner &R, const std::vector<CustomFeature> &Custom, bool Logged) {
  std::vector<TensorSpec> All;
  auto Add = [&](const TensorSpec &S) {
    if (!find(All, S.Name))
      All.push_back(S);
  };
  for (const TensorSpec &S : R.inputs())
    Add(S);
  for (const TensorSpec &S : inlineFeatures())
    Add(S);
  if (Logged)
    Add(inlineDefault());
  for (const CustomFeature &C : Custom)
    Add(C.Spec);
  return All;
}

InlineSession::InlineSession(std::shared_ptr<Runner> R,
                             std::vector<CustomFeature> Custom, InlineConfig C,
                             bool Logged)
    : Config(C), TheRunner(std::move(R)), Custom(std::move(Custom)),
      Block(std::make_shared<TensorBlock>(
          layOut(*TheRunner, this->Custom, Logged))) {
  auto Buffer = [&](const std::string &Name) -> void * {
    for (size_t I = 0; I < Block->specs().size(); ++I)
      if (Block->specs()[I].Name == Name)
        return Block->data(I);
    return nullptr;
  };
  for (const TensorSpec &S : TheRunner->inputs())
    RunnerInputs.push_back(Buffer(S.Name));
  for (const TensorSpec &S : inlineFeatures())
    FeatureBuffers.push_back(Buffer(S.Name));
  for (const CustomFeature &F : this->Custom)
    CustomBuffers.push_back(Buffer(F.Spec.Name));
  DefaultBuffer = static_cast<int64_t *>(Buffer(inlineDefault().Name));
}

std::vector<TensorSpec> InlineSession::logSpecs() const {
  std::vector<TensorSpec> Specs = inlineFeatures();
  for (const CustomFeature &F : Custom)
    Specs.push_back(F.Spec);
  Specs.push_back(inlineDefault());
  Specs.push_back(inlineDecision());
  return Specs;
}

void InlineSession::restart() {
  Stopped = false;
  TheFailure = Pending = FirstFallback = Failure();
  Current = nullptr;
}

void InlineSession::switchContext(StringRef Name) {
  Context = Name.str();
  if (!RunnerDead && !Stopped)
    TheRunner->switchContext(Context);
  if (Log)
    Log->context(Context);
}

namespace {
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
} // namespace

bool InlineSession::ask(CallBase &CB, function_ref<bool()> DefaultFunction,
                        bool OverBudget) {
  if (Stopped)
    return false;
  Current = &CB;
  scope_exit Leave([this] { Current = nullptr; });
  AskDefault = DefaultFunction;
  Default.reset();
  const double DefaultBefore = Counts.DefaultSeconds;
  Stopwatch Watch;
  int64_t Answer = 0;
  bool Answered = false;
  // A failure may be pending since the context was switched.
  const bool Asking = !RunnerDead && !OverBudget && !Pending;
  if (Asking || Log)
    fillFeatures();
  if (Asking && !Pending)
    Answered = question(Answer);
  if (Answered) {
    ++Counts.Asked;
    Counts.Accepted += Answer;
  } else if (OverBudget && !Pending) {
    ++Counts.BudgetHits;
    Answer = defaultDecision();
  } else if (settleFailure()) {
    ++Counts.Fallbacks;
    Answer = defaultDecision();
  }
  if (!Stopped && Log && !writeLog(Answer)) {
    noteFailure(FailureKind::Log, Log->error());
    Config.DefaultOnError =
        false; // a log that cannot be written has no fallback
    settleFailure();
    Answer = 0;
  }
  ++Ordinal;
  Counts.AskSeconds +=
      Watch.seconds() - (Counts.DefaultSeconds - DefaultBefore);
  return Answer != 0;
}

/// Computes what LLVM did not, for the runner or the log. After a failure,
/// which is then pending, the log gets zeros rather than another decision's
/// values.
void InlineSession::fillFeatures() {
  if (DefaultBuffer)
    *DefaultBuffer = defaultDecision();
  bool Good = true;
  for (size_t I = 0; I < Custom.size(); ++I) {
    if (Good && !Custom[I].Fill(CustomBuffers[I])) {
      Good = false;
      noteFailure(FailureKind::Feature,
                  "feature " + Custom[I].Spec.Name + " failed");
    }
    if (!Good)
      std::memset(CustomBuffers[I], 0, Custom[I].Spec.bytes());
  }
}

/// Asks the runner. False with Pending set on failure.
bool InlineSession::question(int64_t &Answer) {
  if (!TheRunner->evaluate(RunnerInputs.data(), &Answer)) {
    noteFailure(FailureKind::Model, TheRunner->error());
    return false;
  }
  if (Answer == 0 || Answer == 1)
    return true;
  noteFailure(FailureKind::Advice,
              "expected 0 or 1, got " + std::to_string(Answer));
  return false;
}

/// Decides what follows from Pending. True: take the default for this decision.
bool InlineSession::settleFailure() {
  if (RunnerDead && !Pending)
    return true;
  Failure Now;
  std::swap(Now, Pending);
  Now.Where = where();
  if (Now.Kind == FailureKind::Interrupt || !Config.DefaultOnError) {
    TheFailure = Now;
    Stopped = true;
    return false;
  }
  if (!FirstFallback)
    FirstFallback = Now;
  RunnerDead |= Now.Fatal;
  return true;
}

bool InlineSession::defaultDecision() {
  if (!Default) {
    Stopwatch Watch;
    Default = AskDefault();
    Counts.DefaultSeconds += Watch.seconds();
  }
  return *Default;
}

void InlineSession::interrupt() {
  TheFailure.Kind = FailureKind::Interrupt;
  Stopped = true;
}

bool InlineSession::noteFailure(FailureKind K, std::string Text, bool Fatal) {
  if (Pending)
    return false;
  Pending.Kind = K;
  Pending.Text = std::move(Text);
  Pending.Fatal = Fatal;
  return true;
}

static DecisionPlace placeOf(CallBase &CB) {
  DecisionPlace P;
  P.Caller = CB.getCaller()->getName();
  P.Callee = CB.getCalledFunction()->getName();
  if (const DILocation *Loc = CB.getDebugLoc().get()) {
    P.File = Loc->getFilename();
    P.Line = Loc->getLine();
    P.Column = Loc->getColumn();
  }
  return P;
}

bool InlineSession::writeLog(int64_t Answer) {
  Log->observation(Ordinal, placeOf(*Current));
  for (size_t I = 0; I < FeatureBuffers.size(); ++I)
    Log->tensor(FeatureBuffers[I], inlineFeatures()[I].bytes());
  for (size_t I = 0; I < Custom.size(); ++I)
    Log->tensor(CustomBuffers[I], Custom[I].Spec.bytes());
  Log->tensor(DefaultBuffer, sizeof *DefaultBuffer);
  Log->tensor(&Answer, sizeof Answer);
  Log->endObservation();
  return !Log->failed();
}

std::string InlineSession::where() const {
  DecisionPlace P = placeOf(*Current);
  std::string S = "decision " + std::to_string(Ordinal) + " (" +
                  std::string(P.Caller) + " -> " + std::string(P.Callee);
  if (!P.File.empty())
    S += ", " + std::string(P.File) + ":" + std::to_string(P.Line) + ":" +
         std::to_string(P.Column);
  return S + ")";
}

} // namespace passpilot
