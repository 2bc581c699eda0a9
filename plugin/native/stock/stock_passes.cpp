// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "stock_passes.h"

#include "../llvm/compat.h"
#include "../llvm/decisions.h"
#include "../llvm/points.h"
#include "../llvm/program_profile.h"
#include "../runtime/build_process.h"
#include "../runtime/text.h"
#include "flags.h"
#include "host.h"
#include "llvm_calls.h"
#include "unit_options.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/WithColor.h"

#include <mutex>

using namespace llvm;

namespace passpilot {

/// Python's functions; only for a process with passes in Python.
static const LLVMCalls &calls() {
  Messages Report;
  return *python<LLVMCalls>(Report);
}

namespace {

/// The first error in \p Report.
Error errorOf(const Messages &Report) {
  for (const Message &M : Report)
    if (M.isError())
      return createStringError(M.Text);
  return Error::success();
}

/// \p Text, which says that the file \p Path does not fit \p Source; empty if
/// such was said in this build.
std::string onceInBuild(const std::string &Path, const std::string &Text,
                        const std::string &Source) {
  if (Text.empty() || isProbe(Source))
    return "";
  const std::string Build = buildHere();
  if (Build.empty())
    return Text;
  return wasSaid(Build, "decisions-" + Path) ? ""
                                             : Text + " (said once in a build)";
}

/// Whether \p Name is an LLVM pass or analysis, or a word of the pipeline
/// grammar.
bool isLLVMs(StringRef Name) {
  static const StringSet<> Names = [] {
    StringSet<> All;
    std::string Text;
    raw_string_ostream OS(Text);
    PassBuilder().printPassNames(OS);
    SmallVector<StringRef> Lines;
    StringRef(Text).split(Lines, '\n');
    for (StringRef Line : Lines)
      if (Line.consume_front("  "))
        All.insert(Line.split('<').first);
    for (const char *Word : {"module", "cgscc", "function", "loop", "loop-mssa",
                             "machine-function", "coro-cond", "repeat",
                             "devirt", "require", "invalidate"})
      All.insert(Word);
    return All;
  }();
  const StringRef Plain = Name.split('<').first;
  return Names.contains(Plain) || Plain == "default" ||
         Plain.starts_with("thinlto") || Plain.starts_with("lto") ||
         Plain.starts_with("fatlto");
}

/// Whether \p Name is in kebab-case, as all names of passes in Python are.
bool isKebab(StringRef Name) {
  return !Name.empty() && all_of(Name, [](char C) {
    return isLower(C) || isDigit(C) || C == '-';
  }) && isLower(Name.front());
}

/// The tool's pipeline text; empty without one.
StringRef pipelineText() {
  for (const char *Name : {"passes", "lto-newpm-passes"}) {
    const auto *O = optionOf<std::string>(Name);
    if (O && O->getNumOccurrences())
      return O->getValue();
  }
  return "";
}

/// Loads the user's files, each list of files once per process.
Error loadFiles() {
  static std::mutex Mutex;
  static StringSet<> Loaded;
  GivenUpGIL Given; // the owner of the lock runs files in Python
  std::lock_guard<std::mutex> Lock(Mutex);
  const std::string Files = filesToLoad();
  if (Files.empty() || Loaded.contains(Files))
    return Error::success();
  Messages Report;
  if (const auto *Calls = python<LLVMCalls>(Report))
    Calls->Load(&Report, Files.c_str());
  Error E = errorOf(Report);
  if (!E)
    Loaded.insert(Files);
  return E;
}

} // namespace

StockPasses::~StockPasses() {
  Messages Unheard;
  if (Sought && pythonRuns())
    contained(Unheard, [&] { calls().Forget(&Unheard, address()); });
}

Expected<std::shared_ptr<StockPasses>>
StockPasses::registerWith(PassBuilder &PB, PassStage Stage) {
  if (Error E = checkOptions())
    return E;
  if (Error E = loadFiles())
    return E;
  const auto Shared = std::make_shared<StockPasses>();
  StockPasses *const S = Shared.get();
  S->Passes.Owner = Shared;
  S->Passes.Own = &S->Watch;
  S->Stage = Stage;
  const StringRef Whole = pipelineText();
  S->Passes.First =
      Whole.take_until([](char C) { return StringRef(",()").contains(C); })
          .str();
  S->Passes.Resolve = [S](StringRef Element) { S->find(Element); };
  S->Passes.OnFailure = [S] {
    contained(*S->M, [&](Messages &Report) {
      calls().Explain(&Report, S->address());
    });
  };
  // Some compilers have no instrumentation; our passes depend on it.
  if (!PB.getPassInstrumentationCallbacks())
    instrumentationOf(PB) = &S->Watch;
  S->Passes.registerWith(PB, Whole);
  if (Stage == PassStage::CodeGeneration)
    return Shared;
  for (const auto &[Point, Text] : textsAt())
    if (Error E = S->Passes.at(PB, Point, Text))
      return createStringError("-passpilot-at=" + Point + ": " +
                               toString(std::move(E)));
  if (const std::string Path = decisionFile(); !Path.empty())
    if (Error E = registerDecisions(
            S->Passes, PB, Path,
            [S, Path](Module &M, const UnitDecisions *Unit,
                      const Misfit &Wrong) {
              decideUnit(M, Unit);
              S->DecisionsWarning =
                  Wrong.OfAllUnits
                      ? onceInBuild(Path, Wrong.Text, M.getSourceFileName())
                      : Wrong.Text;
            }))
      return E;
  if (const std::string Path = profileFile(); !Path.empty()) {
    auto Reached = registerProfile(S->Passes, PB, Path);
    if (!Reached)
      return Reached.takeError();
    S->Profile = *Reached;
  }
  if (const std::string Text = pipelineBehind(); !Text.empty()) {
    ModulePassManager Trial;
    if (Error E = checkPermitted(Text))
      return createStringError(policy().who() + ": " + toString(std::move(E)));
    if (Error E = S->Passes.parse(PB, Trial, Text))
      return createStringError(policy().who() + ": expected a pipeline, got '" +
                               Text + "': " + toString(std::move(E)));
    registerPipelineBehind(S->Passes, PB, Text);
  }
  return Shared;
}

/// Adds the pass in Python that \p Element names, if any. LLVM calls this
/// several times, and reports unknown passes itself.
void StockPasses::find(StringRef Element) {
  const StringRef Name = Element.split('{').first;
  if (isLLVMs(Name) || !isKebab(Name) || Refused.contains(Element))
    return;
  Messages Report;
  contained(Report, [&] {
    const auto *Calls = python<LLVMCalls>(Report);
    Sought |= Calls != nullptr;
    if (Calls)
      Calls->Find(&Report, address(), Element.str().c_str());
  });
  for (const Message &Line : Report)
    WithColor::error() << shown(Line.Text) << "\n";
  if (!Report.empty())
    Refused.insert(Element);
  Used |= !Passes.empty();
}

PointRunners StockPasses::atStage(PointRunners Pairs) const {
  if (Stage == PassStage::CodeGeneration || generatesCode())
    erase_if(Pairs, [this](const auto &Pair) {
      const bool Late = any_of(emitPasses(), [&](const EmitPass &P) {
        return P.Point == Pair.first;
      });
      return Late != (Stage == PassStage::CodeGeneration);
    });
  return Pairs;
}

void StockPasses::begin(Module &Begun) {
  M = &Begun;
  Passes.forgetFailure();
  if (!Used)
    return;
  for (const auto &[Point, Runner] : atStage(passPoints())) {
    Messages Report;
    const AdvisorOptions O = advisorOptions(Point, *M);
    calls().Advise(&Report, address(), Point.c_str(), Runner.c_str(),
                   O.Log.c_str(), O.OnError.c_str(), O.Timeout);
    tell(M->getContext(), M, Report);
  }
}

void StockPasses::end(bool Good, Messages &Report) {
  for (const std::string &Point : Passes.unreached())
    Report.push_back({"warning", "-passpilot-at=" + Point +
                                     ": the pipeline has no such point"});
  for (const std::string &Point : Passes.heldBack())
    Report.push_back({"warning", "-passpilot-at=" + Point +
                                     ": never ran: " + ProfileGate::Closed});
  if (!DecisionsWarning.empty())
    Report.push_back({"warning", std::exchange(DecisionsWarning, "")});
  if (Profile && !*Profile)
    Report.push_back(
        {"warning", std::string("-passpilot-profile: ") + UnusedProfile});
  if (!Used)
    for (const auto &[Point, Runner] : atStage(advisedPassPoints()))
      Report.push_back({"warning", "-passpilot-advise=" + Point +
                                       ": the pipeline has no pass in Python "
                                       "that could ask " +
                                       Runner + meantPoint(Point)});
  if (const std::string Idle = Passes.idle(); Good && !Idle.empty())
    Report.push_back({"warning", Idle});
  if (Used)
    calls().EndPasses(&Report, address(), Good, statsWanted());
  M = nullptr;
}

} // namespace passpilot
