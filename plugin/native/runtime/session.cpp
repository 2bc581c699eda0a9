// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "session.h"

#include <algorithm>
#include <cstring>

namespace passpilot {

/// The block's layout: first the runner's inputs in its order, one contiguous
/// frame; then what only the compiler or the log uses.
static std::vector<TensorSpec> layOut(const Point &P, const Runner &R,
                                      const std::vector<CustomFeature> &Custom,
                                      bool Logged) {
  std::vector<TensorSpec> All;
  auto Add = [&](const TensorSpec &S) {
    for (const TensorSpec &Known : All)
      if (Known.Name == S.Name)
        return;
    All.push_back(S);
  };
  for (const TensorSpec &S : R.inputs())
    Add(S);
  for (const TensorSpec &S : P.Features)
    Add(S);
  if (Logged)
    Add(P.Default);
  for (const CustomFeature &C : Custom)
    Add(C.Spec);
  return All;
}

Session::Session(const Point &P, std::shared_ptr<Runner> R,
                 std::vector<CustomFeature> Custom, bool DefaultOnError,
                 bool Logged)
    : ThePoint(P), TheRunner(std::move(R)), Custom(std::move(Custom)),
      Block(std::make_shared<TensorBlock>(
          layOut(P, *TheRunner, this->Custom, Logged))),
      DefaultOnError(DefaultOnError) {
  auto Buffer = [&](const std::string &Name) -> void * {
    for (size_t I = 0; I < Block->specs().size(); ++I)
      if (Block->specs()[I].Name == Name)
        return Block->data(I);
    return nullptr;
  };
  for (const TensorSpec &S : TheRunner->inputs())
    RunnerInputs.push_back(Buffer(S.Name));
  const bool NeedsAll =
      Logged ||
      std::any_of(this->Custom.begin(), this->Custom.end(),
                  [](const CustomFeature &F) { return F.ReadsOthers; });
  for (const TensorSpec &S : P.Features) {
    FeatureBuffers.push_back(Buffer(S.Name));
    FeatureIsNeeded.push_back(NeedsAll || std::count(RunnerInputs.begin(),
                                                     RunnerInputs.end(),
                                                     FeatureBuffers.back()));
    FeatureIsRead.push_back(FeatureIsNeeded.back() || TheRunner->readsOthers());
  }
  for (const CustomFeature &F : this->Custom)
    CustomBuffers.push_back(Buffer(F.Spec.Name));
  for (const void *In : RunnerInputs)
    ReadsGiven &=
        std::count(FeatureBuffers.begin(), FeatureBuffers.end(), In) > 0;
  DefaultBuffer = Buffer(P.Default.Name);
  if (P.Domain.Kind == DomainKind::Choice)
    Mask = static_cast<int64_t *>(Buffer(P.Domain.Mask));
}

std::vector<TensorSpec> Session::logSpecs() const {
  std::vector<TensorSpec> Specs = ThePoint.Features;
  for (const CustomFeature &F : Custom)
    Specs.push_back(F.Spec);
  Specs.push_back(ThePoint.Default);
  Specs.push_back(ThePoint.Decision);
  return Specs;
}

void Session::restart() {
  Stopped = false;
  TheFailure = Pending = FirstFallback = Failure();
  Current = nullptr;
  InContext = false;
}

void Session::enterContext(const std::string &Name) {
  if (!InContext || Context != Name)
    switchContext(Name);
}

void Session::switchContext(std::string_view Name) {
  Context = Name;
  InContext = true;
  if (!RunnerDead && !Stopped)
    TheRunner->switchContext(Context);
  if (Log)
    Log->context(Context);
}

void Session::flushLog() {
  if (Log && !Stopped && !Log->flush())
    fail({FailureKind::Log, Log->error(), "the end"});
}

std::optional<Advice> Session::ask(Question &Q, bool OverBudget) {
  if (Stopped)
    return std::nullopt;
  ++Questions;
  Current = &Q;
  Asker = std::this_thread::get_id();
  std::optional<Advice> Answer;
  try {
    Answer = decide(OverBudget);
  } catch (const std::exception &E) {
    abandon(FailureKind::Model, E.what());
  } catch (...) {
    abandon(FailureKind::Model, "an exception that is none of C++'s");
  }
  Current = nullptr;
  return Stopped ? std::nullopt : Answer;
}

Advice Session::decide(bool OverBudget) {
  Default.reset();
  HasRest = false;
  const double DefaultBefore = Counts.DefaultSeconds;
  Stopwatch Watch;
  Advice Answer{0};
  bool Answered = false;
  // switchContext() may have left a failure pending.
  const bool Asking = !RunnerDead && !OverBudget && !Pending;
  if (Asking || Log)
    fillFeatures();
  if (Asking && !Pending)
    Answered = question(Answer);
  if (Answered) {
    countAnswer(Answer);
  } else if (OverBudget && !Pending) {
    ++Counts.BudgetHits;
    Answer = defaultAdvice();
  } else if (settleFailure(DefaultOnError)) {
    ++Counts.Fallbacks;
    Answer = defaultAdvice();
  }
  if (!Stopped && Log && !writeLog(Answer)) {
    noteFailure(FailureKind::Log, Log->error());
    settleFailure(/*MayFallBack=*/false);
  }
  ++Ordinal;
  if (!Stopped)
    Current.load()->answered(Answer);
  Counts.AskSeconds +=
      Watch.seconds() - (Counts.DefaultSeconds - DefaultBefore);
  return Answer;
}

std::vector<Advice> Session::askAll(const QuestionBatch &B) {
  const auto *Features = reinterpret_cast<const char *>(B.Features.data());
  std::vector<Advice> Answers, Known;
  size_t First = 0, End = 0; // the current batch, [First, End)
  for (size_t I = 0; I < B.Questions.size(); ++I, Features += Block->bytes()) {
    enterContext(B.Contexts[I]);
    if (I == End) {
      First = I;
      End = I + together(B, I);
      Known = foresee(Features, End - First);
    }
    std::memcpy(Block->begin(), Features, Block->bytes());
    if (!Known.empty())
      Foreseen = Known[I - First];
    const std::optional<Advice> Answer = ask(*B.Questions[I]);
    Foreseen.reset();
    if (!Answer)
      break;
    Answers.push_back(*Answer);
  }
  return Answers;
}

/// How many questions from \p First on the runner can be asked as one batch.
/// Features that must be computed per decision prevent batches.
size_t Session::together(const QuestionBatch &B, size_t First) const {
  const Batching How = TheRunner->batching();
  size_t End = First + 1;
  if (How != Batching::None && ReadsGiven)
    while (End < B.Questions.size() &&
           (How == Batching::Any || B.Contexts[End] == B.Contexts[First]))
      ++End;
  return End - First;
}

/// Asks the runner about several questions, whose blocks are at \p Features. If
/// it fails at one, returns nothing: the caller then asks one by one, so that
/// the failure is reported at its own decision.
std::vector<Advice> Session::foresee(const char *Features, size_t Count) {
  if (Count < 2 || Stopped || RunnerDead || Pending)
    return {};
  Stopwatch Watch;
  std::vector<const void *> In;
  In.reserve(RunnerInputs.size());
  for (const void *Input : RunnerInputs)
    In.push_back(Features +
                 (static_cast<const char *>(Input) - Block->begin()));
  std::vector<Advice> Answers(Count);
  if (!TheRunner->evaluateBatch(In.data(), Block->bytes(), Count,
                                Answers.data()))
    Answers.clear();
  Counts.AskSeconds += Watch.seconds();
  return Answers;
}

void Session::countAnswer(Advice Answer) {
  ++Counts.Asked;
  const DomainKind Kind = ThePoint.Domain.Kind;
  if (Kind == DomainKind::Flag)
    Counts.Accepted += Answer.Integer;
  else if (ThePoint.Name == "evict") // its last column evicts nothing
    Counts.Accepted += Answer.Integer != ThePoint.Domain.Count - 1;
  if (Default) {
    ++Counts.Compared;
    Counts.Agreed += ThePoint.Domain.same(Answer, *Default);
  }
}

/// Computes the features that the compiler did not, for the runner or the log.
/// After a failure, which is then pending, the log gets zeros instead of the
/// previous decision's values.
void Session::fillFeatures() {
  if (DefaultBuffer) {
    const Advice D = defaultAdvice();
    std::memcpy(DefaultBuffer, &D, sizeof D);
  }
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

/// Asks the runner. Returns false with Pending set on failure.
bool Session::question(Advice &Answer) {
  if (TheRunner->wantsPlace())
    TheRunner->locate(Current.load()->place());
  if (Foreseen) {
    Answer = *Foreseen;
  } else if (!TheRunner->evaluate(RunnerInputs.data(), &Answer)) {
    noteFailure(FailureKind::Model, TheRunner->error());
    return false;
  }
  const Domain &D = ThePoint.Domain;
  if (D.allows(Answer, Mask))
    return true;
  noteFailure(FailureKind::Advice,
              D.inRange(Answer)
                  ? Current.load()->forbidden(Answer)
                  : "expected " + D.expected() + ", got " + D.text(Answer));
  return false;
}

/// Acts on Pending. Returns true if this decision takes the default.
bool Session::settleFailure(bool MayFallBack) {
  if (Stopped)
    return false;
  if (RunnerDead && !Pending)
    return true;
  Failure Now;
  std::swap(Now, Pending);
  Now.Where = where();
  if (Now.Kind == FailureKind::Interrupt || !MayFallBack) {
    fail(std::move(Now));
    return false;
  }
  if (!FirstFallback)
    FirstFallback = Now;
  RunnerDead |= Now.Fatal;
  return true;
}

Advice Session::defaultAdvice() {
  if (!Default) {
    Stopwatch Watch;
    Default = Current.load()->defaultAdvice();
    Counts.DefaultSeconds += Watch.seconds();
  }
  return *Default;
}

void Session::describeRest() {
  if (Question *Q = current(); Q && !HasRest) {
    HasRest = true;
    Q->describeRest();
  }
}

void Session::interrupt() {
  TheFailure.Kind = FailureKind::Interrupt;
  Stopped = true;
}

void Session::abandon(FailureKind K, std::string Text) {
  if (Stopped)
    return;
  fail({K, std::move(Text), where()});
}

void Session::fail(Failure F) {
  TheFailure = std::move(F);
  Stopped = true;
  try {
    if (OnFailure)
      OnFailure();
  } catch (const std::exception &E) {
    TheFailure.Text += std::string("; its report failed: ") + E.what();
  } catch (...) {
    TheFailure.Text += "; its report failed";
  }
}

bool Session::noteFailure(FailureKind K, std::string Text, bool Fatal) {
  if (Pending)
    return false;
  Pending.Kind = K;
  Pending.Text = std::move(Text);
  Pending.Fatal = Fatal;
  return true;
}

bool Session::writeLog(Advice Answer) {
  Log->observation(Ordinal, Current.load()->place());
  for (size_t I = 0; I < FeatureBuffers.size(); ++I)
    Log->tensor(FeatureBuffers[I], ThePoint.Features[I].bytes());
  for (size_t I = 0; I < Custom.size(); ++I)
    Log->tensor(CustomBuffers[I], Custom[I].Spec.bytes());
  Log->tensor(DefaultBuffer, sizeof(Advice));
  Log->tensor(&Answer, sizeof Answer);
  Log->endObservation();
  return !Log->failed();
}

std::string Session::where() const {
  Question *Q = Current;
  const DecisionPlace P = Q ? Q->place() : DecisionPlace();
  std::string S;
  auto Add = [&S](const std::string &Part) {
    S += (S.empty() ? " (" : ", ") + Part;
  };
  if (P.ofCall())
    Add(std::string(P.Caller) + " -> " + std::string(P.Callee));
  else if (!Context.empty())
    Add("function " + Context);
  if (!P.Register.empty())
    Add(std::string(P.Register));
  if (!P.File.empty())
    Add(std::string(P.File) + ":" + std::to_string(P.Line) + ":" +
        std::to_string(P.Column));
  return "decision " + std::to_string(Ordinal) + S + (S.empty() ? "" : ")");
}

} // namespace passpilot
