// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "c_runner.h"

#include "../llvm/host_features.h"
#include "../runtime/runner_spec.h"
#include "../runtime/text.h"

#include <cstddef>
#include <cstdio>
#include <cstring>
#include <stdexcept>

using namespace passpilot;

namespace passpilot {

static std::string textOf(const char *Text) { return Text ? Text : ""; }

void CallerQuestion::setPlace(const passpilot_place *To) {
  const passpilot_place Given = To ? *To : passpilot_place();
  Caller = textOf(Given.caller);
  Callee = textOf(Given.callee);
  File = textOf(Given.file);
  Place = {Caller, Callee, File, {}, Given.line, Given.column};
}

std::string CallerQuestion::forbidden(Advice A) {
  std::vector<std::string> Legal;
  size_t More = 0;
  for (int64_t I = 0; I < P.Domain.Count; ++I)
    if (Mask[I] && Legal.size() < 10)
      Legal.push_back(std::to_string(I));
    else
      More += Mask[I] != 0;
  return "expected one that '" + P.Domain.Mask + "' allows (" +
         (Legal.empty() ? "none" : joined(Legal)) +
         (More ? " and " + std::to_string(More) + " more" : "") + "), got " +
         std::to_string(A.Integer);
}

} // namespace passpilot

namespace {

const double LongestTimeout = 1e6; // as in runners/spec.py

[[noreturn]] void fail(const Messages &Report) {
  for (const Message &M : Report)
    if (M.isError())
      throw std::runtime_error(M.Text);
  throw std::runtime_error("passpilot: Python has failed");
}

/// The options of a program whose header may be older than this library: what
/// its struct lacks has the default.
passpilot_options checked(const passpilot_options *Given) {
  passpilot_options O = PASSPILOT_OPTIONS_INIT;
  if (!Given)
    return O;
  const size_t Size = Given->size,
               Least = offsetof(passpilot_options, default_on_error);
  if (Size < Least || Size > sizeof O || Size % alignof(passpilot_options))
    throw std::invalid_argument(
        "options: expected the size of passpilot_options, here " +
        std::to_string(sizeof O) + " or less in an older header, got " +
        std::to_string(Size) + "; start from PASSPILOT_OPTIONS_INIT" +
        (Size > sizeof O ? ", and use the library of the header's version"
                         : ""));
  std::memcpy(static_cast<void *>(&O), Given, Size);
  if (!(O.timeout > 0 && O.timeout <= LongestTimeout))
    throw std::invalid_argument(
        "options: expected a timeout of more than 0 seconds, at most a "
        "million, got " +
        std::to_string(O.timeout));
  return O;
}

std::string checked(const char *Spec) {
  if (!Spec)
    throw std::invalid_argument(
        "runner: expected a spec such as onnx:model.onnx, got none");
  return Spec;
}

} // namespace

passpilot_runner::passpilot_runner(const char *S, const passpilot_point &P,
                                   const passpilot_options *O)
    : Point(readPoint(P)), Memory(std::make_shared<SharedMemory>()),
      Question(Point, *Memory), Spec(checked(S)), Options(checked(O)) {
  Messages Report;
  if (Options.load && !loadFiles(Options.load, Report))
    fail(Report);
  Session = std::make_unique<passpilot::Session>(
      Point, make(), std::vector<CustomFeature>(),
      Options.default_on_error != 0, Options.log != nullptr);
  Memory->Block = Session->block();
  if (int64_t *Mask = Session->mask())
    std::fill_n(Mask, Point.Domain.Count, 1);
  Question.Mask = Session->mask();
  if (InPython && !InPython->bind(*Session, Memory, Report))
    fail(Report);
  if (Options.log) {
    Log.open(Options.log, Session->logSpecs());
    Session->setLog(Log.log());
  }
}

/// Makes a native runner, or else asks Python, which also explains malformed
/// specs.
std::shared_ptr<Runner> passpilot_runner::make() {
  std::string Error;
  std::shared_ptr<Runner> R = makeNativeRunner(
      Spec, Point, {onnxLibrary(), hostFeatures(), pluginFolder()}, Error);
  if (!Error.empty())
    throw std::runtime_error(Error);
  if (R) {
    if (!R->warning().empty())
      warn(R->warning());
    return R;
  }
  Messages Report;
  auto Runner = makePythonRunner(Spec, Point, Options.timeout,
                                 Options.default_on_error != 0, Report);
  if (!Runner)
    fail(Report);
  warn(Report);
  InPython = Runner.get();
  return Runner;
}

void *passpilot_runner::input(const char *Name) {
  if (const TensorSpec *S = named(Point.Features, Name ? Name : ""))
    return Session->feature(S - Point.Features.data());
  throw std::invalid_argument("decision point " + Point.Name +
                              ": expected one of its features, got " +
                              (Name ? "'" + std::string(Name) + "'" : "none"));
}

bool passpilot_runner::reads(const char *Name) const {
  return Options.log || (Name && named(Session->runner().inputs(), Name));
}

void passpilot_runner::evaluate(passpilot_advice &Answer) {
  if (Closed)
    throw std::logic_error(Point.Name +
                           " advisor: expected an open runner, got a closed "
                           "one");
  const uint64_t Before = Session->Counts.Fallbacks;
  const std::optional<Advice> Answered = Session->ask(Question);
  if (!Answered) {
    const Failure F = Session->failure();
    if (!F.Fatal && F.Kind != FailureKind::Log)
      Session->restart(); // the next decision may succeed
    throw std::runtime_error(describe(F));
  }
  if (Session->Counts.Fallbacks != Before) {
    checkDefault();
    if (!Before)
      warn(describe(Session->firstFallback()) +
           "; the default decides here, and wherever else the runner fails");
  }
  Answer.integer = Answered->Integer; // copies all eight bytes of the union
}

/// Checks the default: the caller wrote it, and it may be illegal.
void passpilot_runner::checkDefault() const {
  const Domain &D = Point.Domain;
  if (!D.allows(Memory->Default, Session->mask()))
    throw std::runtime_error(Point.Name +
                             " advisor: expected a legal default decision, " +
                             D.expected() + ", got " + D.text(Memory->Default));
}

void passpilot_runner::close(bool Keep) {
  if (Closed)
    return;
  Closed = true;
  Messages Report;
  if (InPython)
    InPython->close(Report);
  for (const Message &M : Report)
    if (M.isError()) {
      Log.drop();
      fail(Report);
    }
  warn(Report);
  Keep ? Log.keep() : Log.drop();
}

void passpilot_runner::warn(const std::string &Text) const {
  if (Options.warn)
    Options.warn(Options.warn_data, shown(Text).c_str());
  else
    printWarning(Text);
}

void passpilot_runner::warn(const Messages &Report) const {
  for (const Message &M : Report)
    if (M.Kind == "warning")
      warn(M.Text);
}

std::string passpilot_runner::describe(const Failure &F) const {
  return Point.Name + " advisor at " + F.Where + ": " + F.Text;
}
