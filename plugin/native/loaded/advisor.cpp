// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "advisor.h"

#include "../llvm/host_features.h"
#include "../runtime/log_file.h"
#include "../runtime/runner_spec.h"
#include "../runtime/text.h"

#include "firewall.h"
#include "policy.h"
#include "python.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Signals.h"

#include <sys/xattr.h>

#include <cstdio>
#include <mutex>
#include <set>

using namespace llvm;

namespace passpilot {

namespace {

class NativeAdvisor final : public Advisor {
public:
  NativeAdvisor(const Point &P, std::unique_ptr<Runner> R,
                const AdvisorOptions &O)
      : TheSession(P, std::move(R), {}, O.OnError == "default",
                   !O.Log.empty()) {
    TheSession.Limit = O.Limit;
  }

  bool openLog(const std::string &Path, Messages &Report) {
    const bool Good =
        reporting(Report, [&] { Log.open(Path, TheSession.logSpecs()); });
    if (!Log.temporary().empty())
      sys::RemoveFileOnSignal(Log.temporary());
    TheSession.setLog(Log.log());
    return Good;
  }

  Session &session() override { return TheSession; }

  void finish(bool Good, Messages &Report) override {
    const Failure &F = TheSession.failure();
    const std::string Temporary = Log.temporary();
    TheSession.setLog(nullptr);
    if (Good && !F)
      reporting(Report, [&] { Log.keep(); });
    else
      Log.drop();
    if (!Temporary.empty())
      sys::DontRemoveFileOnSignal(Temporary);
    if (F)
      Report.push_back({"error", F.Kind == FailureKind::Log
                                     ? Log.refusal(F.Text)
                                     : who() + describe(F)});
    else if (Good)
      warn(Report);
  }

private:
  Session TheSession;
  LogFile Log;

  /// Runs \p Body, which uses the log. Returns false if it throws, and tells
  /// why.
  static bool reporting(Messages &Report, function_ref<void()> Body) {
    try {
      Body();
      return true;
    } catch (std::runtime_error &E) {
      Report.push_back({"error", E.what()});
      return false;
    }
  }

  std::string who() const { return TheSession.point().Name + " advisor"; }

  static std::string describe(const Failure &F) {
    return " at " + F.Where + ": " + F.Text;
  }

  void warn(Messages &Report) {
    const Counts &C = TheSession.Counts;
    const uint64_t All = C.Asked + C.Fallbacks + C.BudgetHits;
    auto Warn = [&](const std::string &Text) {
      Report.push_back({"warning", who() + ": " + Text});
    };
    if (const std::string &W = TheSession.runner().warning(); !W.empty())
      Report.push_back({"warning", W});
    if (const std::string W = TheSession.runner().unused(); !W.empty())
      Report.push_back({"warning", W});
    auto Of = [All](uint64_t Count) {
      return std::to_string(Count) + " of " + std::to_string(All) +
             " decisions";
    };
    if (C.Fallbacks)
      Warn(Of(C.Fallbacks) + " fell back to the default; the first: " + who() +
           describe(TheSession.firstFallback()));
    if (C.BudgetHits)
      Warn(Of(C.BudgetHits) +
           " went to the default, because the module had grown over its size "
           "budget, which -passpilot-size-budget sets");
  }
};

/// An advisor made by Python, which owns the session.
class PythonAdvisor final : public Advisor {
public:
  PythonAdvisor(const AdvisorCalls &Calls, size_t Address)
      : Calls(Calls), Address(Address) {}
  ~PythonAdvisor() override {
    Messages Ignored;
    Calls.Drop(&Ignored, Address);
  }

  Session &session() override { return *reinterpret_cast<Session *>(Address); }
  void finish(bool Good, Messages &Report) override {
    Calls.Finish(&Report, Address, Good);
  }

private:
  const AdvisorCalls &Calls;
  const size_t Address;
};

std::unique_ptr<Advisor> nativeAdvisor(const AdvisorOptions &O, const Point &P,
                                       Messages &Report) {
  std::string Error;
  std::unique_ptr<Runner> R =
      makeNativeRunner(O.Runner, P, {onnxLibrary(), hostFeatures()}, Error);
  if (!Error.empty())
    Report.push_back({"error", Error});
  if (!R)
    return nullptr;
  auto A = std::make_unique<NativeAdvisor>(P, std::move(R), O);
  if (!O.Log.empty() && !A->openLog(O.Log, Report))
    return nullptr;
  return A;
}

/// Python's features must equal ours: both belong to the same package.
bool agrees(const Session &S, const Point &P, Messages &Report) {
  if (S.point().Features == P.Features && S.point().Decision == P.Decision)
    return true;
  Report.push_back({"error", P.Name + " advisor: expected the features of this "
                                      "plugin, got others from Python; build "
                                      "passpilot again"});
  return false;
}

/// Whether \p Log is new in this process; a tool may compile several modules.
bool isFirst(const std::string &Log, Messages &Report) {
  static std::mutex Mutex;
  static std::set<std::string> Logs;
  std::lock_guard<std::mutex> Lock(Mutex);
  if (Log.empty() || Logs.insert(Log).second)
    return true;
  Report.push_back({"error", "decision log " + Log +
                                 ": expected one compilation per log, got a "
                                 "second; name one for each advisor and each "
                                 "module"});
  return false;
}

/// The attribute of a log that says which compilation has written it.
constexpr const char *WriterName = "user.passpilot.compilation";

/// Whether the log is a file that another compilation of a build has written.
bool isOthers(const AdvisorOptions &O, Messages &Report) {
  char Text[64];
  const ssize_t Size = getxattr(O.Log.c_str(), WriterName, Text, sizeof Text);
  if (Size < 0 || O.Compilation == std::string_view(Text, Size))
    return false;
  Report.push_back({"error", "decision log " + O.Log +
                                 ": expected one compilation per log, got a "
                                 "file with the log of another; give a folder, "
                                 "or remove the file"});
  return true;
}

/// An advisor whose log does not replace that of another compilation.
class BuildAdvisor final : public Advisor {
public:
  BuildAdvisor(std::unique_ptr<Advisor> Inner, const AdvisorOptions &O)
      : Inner(std::move(Inner)), O(O) {}

  Session &session() override { return Inner->session(); }

  void finish(bool Good, Messages &Report) override {
    Good = Good && !isOthers(O, Report);
    Inner->finish(Good, Report);
    if (Good) // an error of the attribute leaves the log as it is
      setxattr(O.Log.c_str(), WriterName, O.Compilation.data(),
               O.Compilation.size(), 0);
  }

private:
  std::unique_ptr<Advisor> Inner;
  const AdvisorOptions O;
};

/// Whether the log is a file of its own, which compilations may contend for.
bool isContended(const AdvisorOptions &O) {
  const StringRef Log = O.Log;
  return !O.Compilation.empty() && !Log.empty() && Log != "-" &&
         !Log.starts_with("/dev/") && !Log.starts_with("/proc/");
}

std::string row(uint64_t Count, const std::string &What) {
  char Text[256];
  std::snprintf(Text, sizeof Text, "%10llu %s\n",
                static_cast<unsigned long long>(Count), What.c_str());
  return Text;
}

} // namespace

static uint64_t decisions(const Session &S) {
  return S.Counts.Asked + S.Counts.Fallbacks + S.Counts.BudgetHits;
}

bool neverAsked(const Session &S) { return !S.failure() && !decisions(S); }

Message unaskedWarning(const std::string &Point, const AdvisorOptions &O) {
  return {"warning", Point + " advisor: runner " + O.Runner +
                         " was never asked: " + O.Unasked};
}

std::string report(const Session &S, const std::string &Who) {
  const Counts &C = S.Counts;
  const uint64_t All = decisions(S);
  std::string Text = S.point().Name + " advisor " + shown(Who) + ":\n";
  Text += row(All, "decisions");
  if (S.point().Domain.Kind != DomainKind::Number) {
    const bool Flag = S.point().Domain.Kind == DomainKind::Flag;
    if (Flag || S.point().Name == "evict") {
      Text += row(C.Accepted, Flag ? "accepted" : "evictions");
      Text += row(C.Asked - C.Accepted, Flag ? "refused" : "kept");
    }
  }
  Text += row(C.Fallbacks, "fallbacks to the default");
  if (C.BudgetHits)
    Text += row(C.BudgetHits, "decided by the default, over the size budget");
  Text += row(C.NotAskable, "decided by the default, not askable");
  char Time[64];
  std::snprintf(Time, sizeof Time, "%10.2f microseconds per decision\n",
                All ? 1e6 * C.AskSeconds / static_cast<double>(All) : 0.0);
  return Text + Time;
}

/// The spec of the runner, also if the options name a policy; empty after an
/// error, added to \p Report.
static std::string runnerSpec(const AdvisorOptions &O, const Point &P,
                              Messages &Report) {
  if (!namesPolicy(O.Runner))
    return O.Runner;
  const PolicyRecord *Policy = policyOf(O.Runner, Report);
  if (!Policy)
    return "";
  std::string Wrong = Policy->refusal(O.Triple);
  std::string Spec =
      Wrong.empty() ? Policy->runner(O.Runner, P.Name, Wrong) : "";
  if (!Wrong.empty())
    Report.push_back({"error", Wrong});
  return Spec;
}

static std::unique_ptr<Advisor> startAdvisor(AdvisorOptions O, const Point &P,
                                             Messages &Report) {
  if (!isFirst(O.Log, Report) || (isContended(O) && isOthers(O, Report)))
    return nullptr;
  O.Runner = runnerSpec(O, P, Report);
  if (O.Runner.empty())
    return nullptr;
  if (!pythonRuns()) { // a running Python may have custom features
    auto Native = nativeAdvisor(O, P, Report);
    if (Native || !Report.empty())
      return Native;
  }
  const auto *Calls = python<AdvisorCalls>(Report);
  if (!Calls)
    return nullptr;
  const size_t Session =
      Calls->Start(&Report, P.Name.c_str(), O.Runner.c_str(), O.Log.c_str(),
                   O.OnError.c_str(), O.Timeout, O.Limit);
  if (!Session)
    return nullptr;
  auto A = std::make_unique<PythonAdvisor>(*Calls, Session);
  if (agrees(A->session(), P, Report))
    return A;
  A->finish(false, Report);
  return nullptr;
}

std::unique_ptr<Advisor> makeAdvisor(const AdvisorOptions &O, const Point &P,
                                     Messages &Report) {
  std::unique_ptr<Advisor> A;
  contained(Report, [&] {
    A = startAdvisor(O, P, Report);
    if (A && isContended(O))
      A = std::make_unique<BuildAdvisor>(std::move(A), O);
  });
  if (!A && Report.empty())
    Report.push_back({"error", P.Name + " advisor: expected runner " +
                                   O.Runner +
                                   " or the reason why there is none, got "
                                   "neither"});
  return A;
}

} // namespace passpilot
