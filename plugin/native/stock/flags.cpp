// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "flags.h"

#include "../llvm/llvm_options.h"
#include "../llvm/points.h"
#include "../llvm/unwind_tables.h"
#include "../loaded/advisor_flags.h"
#include "../loaded/refusal.h"
#include "../runtime/permitted.h"
#include "host.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/xxhash.h"

#include <cmath>
#include <cstdlib>
#include <list>
#include <mutex>
#include <optional>
#include <unistd.h>

using namespace llvm;

namespace passpilot {

const OptionStyle TheOptionStyle = {"-", /*HasVariables=*/true};

namespace {

AdvisorFlags Common;

std::string capitalized(StringRef Text) {
  return std::string(1, toUpper(Text.front())) + Text.drop_front().str();
}

std::string helpOf(const PointLimit &L) {
  return capitalized(L.Help) + " (" + utostr(static_cast<uint64_t>(L.Default)) +
         "); 0: no limit";
}

/// The flags of one of LLVM's decision points.
struct PointFlags {
  const HookedPoint &Point;
  Option Runner;
  std::optional<Option> Limit;

  explicit PointFlags(const HookedPoint &P)
      : Point(P), Runner(P.Name, "RUNNER", Twine("Ask RUNNER ") + P.Question) {
    if (P.Limit.Option)
      Limit.emplace(P.Limit.Option, P.Limit.Value, helpOf(P.Limit));
  }
};

/// The flags of all of LLVM's decision points.
std::list<PointFlags> Points(hookedPoints().begin(), hookedPoints().end());

const PointFlags *flagsOf(StringRef Point) {
  const auto Found = find_if(
      Points, [&](const PointFlags &F) { return F.Point.Name == Point; });
  return Found == Points.end() ? nullptr : &*Found;
}

Option Load("load", "FILE.py",
            "Register the passes, features, runners and decision points in it");
Option At("at", "POINT=PIPELINE",
          "Run a pipeline at one of LLVM's extension points");
Option Decisions("decisions", "FILE",
                 "Apply the decisions that `passpilot tune` has found");
Option Policy("policy", "@NAME",
              "Compile with a policy: its models, its pipeline and its options "
              "of LLVM's");
Option Profile("profile", "FILE",
               "Optimize for size what is cold in this profile, and outline "
               "nothing from what is hot");
Option Unwind("unwind", "MODE",
              "Write unwind tables that are exact at MODE: faults, "
              "shared, linked, calls, exceptions, none or full");

std::pair<std::string, std::string> halves(StringRef Text) {
  const auto [Name, Value] = Text.split('=');
  return {Name.str(), Value.str()};
}

/// The runner that is chosen for \p Point. Flags win over variables, for both
/// options.
std::string chosenRunner(StringRef Point) {
  const PointFlags *Own = flagsOf(Point);
  if (Own && Own->Runner.given() && !Common.Advise.given())
    return Own->Runner.last();
  for (const std::string &Text : Common.Advise.values())
    if (const auto [Name, Runner] = halves(Text); Name == Point)
      return Runner;
  std::string Runner = Own ? Own->Runner.last() : "";
  if (Runner.empty() && Point == "inline" && !Decisions.last().empty())
    return "decisions:" + Decisions.last();
  return Runner;
}

/// The runner at \p Point: the chosen one, or that of the policy.
std::string runnerOf(StringRef Point) {
  const std::string Chosen = chosenRunner(Point);
  return Chosen.empty() ? policy().runner(Point) : Chosen;
}

/// Whether a driver has made the file for one of its steps.
bool isTemporary(StringRef Path) {
  SmallString<64> Folder;
  sys::path::system_temp_directory(/*ErasedOnReboot=*/true, Folder);
  return sys::path::parent_path(Path) == Folder;
}

/// Distinguishes compilations of the same source: PASSPILOT_UNIT, or else the
/// command without temporary files.
std::string unit() {
  if (const char *Unit = std::getenv("PASSPILOT_UNIT"))
    return Unit;
  std::vector<std::string> Words = commandWords();
  erase_if(Words, isTemporary);
  return join(Words, StringRef("", 1));
}

/// The module's name; the source's if clang made a temporary file for a linker.
StringRef nameOf(const Module &M) {
  const StringRef Name = M.getModuleIdentifier();
  return isTemporary(Name) ? M.getSourceFileName() : Name;
}

/// A suffix for a log name that the process has used before: a linker may
/// compile several modules of the same name.
std::string repeated(const std::string &Stem) {
  static std::mutex Mutex;
  static StringMap<unsigned> Taken;
  std::lock_guard<std::mutex> Lock(Mutex);
  const unsigned Times = ++Taken[Stem];
  return Times == 1 ? "" : "-" + std::to_string(Times);
}

/// Tells compilations of one source by one command apart: the module's target
/// and, as clang notes it in functions, its processor.
std::string targetOf(const Module &M) {
  const auto Noted = find_if(
      M, [](const Function &F) { return F.hasFnAttribute("target-cpu"); });
  const StringRef Processor =
      Noted == M.end() ? ""
                       : Noted->getFnAttribute("target-cpu").getValueAsString();
  return (M.getTargetTriple().str() + " " + Processor).str();
}

/// The hash of a module's path, its target, and \p More.
std::string hashOf(const Module &M, const std::string &More) {
  SmallString<128> Whole(nameOf(M));
  (void)sys::fs::make_absolute(Whole); // or the path as it is
  return utohexstr(xxh3_64bits((Whole + More + targetOf(M)).str()),
                   /*LowerCase=*/true);
}

/// Tells the compilations of a build apart, also if their options change:
/// source, target and output. Empty for tools that people run.
std::string compilationOf(const Module &M) {
  if (!isClang() && !isLinker())
    return "";
  std::string Output;
  const std::vector<std::string> Words = commandWords();
  if (!std::getenv("PASSPILOT_UNIT"))
    for (size_t I = 1; I < Words.size(); ++I)
      if (Words[I - 1] == "-o" && !isTemporary(Words[I]))
        Output = Words[I];
  return hashOf(M, Output);
}

/// The log's path in a folder; the same source, target and command give the
/// same path.
std::string logIn(StringRef Folder, StringRef Point, const Module &M) {
  SmallString<128> Path(Folder);
  sys::path::append(Path, sys::path::filename(nameOf(M)) + "-" +
                              hashOf(M, unit()) + "-" + Point);
  return (Path + repeated(Path.str().str()) + ".log").str();
}

bool isPoint(StringRef Name) {
  return flagsOf(Name) || any_of(passPoints(), [&](const auto &Pair) {
           return Pair.first == Name;
         });
}

/// Whether there is a log for \p Point.
bool logged(StringRef Point) {
  return any_of(Common.Log.values(), [&](const std::string &Text) {
    const std::string Name = halves(Text).first;
    return Name == Point || !isPoint(Name);
  });
}

/// Whether LLVM needs an advisor at \p Point: it does not if the default
/// decides without a log.
bool asks(const std::string &Runner, StringRef Point) {
  return !Runner.empty() && (Runner != "default" || logged(Point));
}

/// The log of \p Point; empty if there is none.
std::string logOf(StringRef Point, const Module &M) {
  std::string Path;
  for (const std::string &Text : Common.Log.values()) {
    const auto [Name, File] = halves(Text);
    if (!isPoint(Name))
      Path = Text;
    else if (Name == Point)
      return isLogFolder(File) ? logIn(File, Point, M) : File;
  }
  return isLogFolder(Path) ? logIn(Path, Point, M) : Path;
}

/// Reads the option that limits the runners of a point.
Error readLimit(const PointFlags &Own, double &Limit) {
  Limit = Own.Point.Limit.Default;
  if (!Own.Limit)
    return Error::success();
  if (Error E = Own.Limit->number(0, Limit))
    return E;
  if (!Own.Point.Limit.Whole ||
      (Limit == std::floor(Limit) && Limit < 4294967296.0))
    return Error::success();
  return createStringError(Own.Limit->name() +
                           ": expected an integer of 0 to 4294967295, got '" +
                           Own.Limit->last() + "'");
}

/// Checks the values, whether or not there is a runner that needs them.
Error checkValues() {
  if (Error E = Option::checkVariables())
    return E;
  if (Error E = Common.check())
    return E;
  if (Error E = expectPairs(At, "PIPELINE"))
    return E;
  double Limit = 0;
  for (const PointFlags &F : Points)
    if (Error E = readLimit(F, Limit))
      return E;
  return Error::success();
}

/// Makes sure that each log, and each flag about advisors, has an advisor. A
/// variable may be there for another tool of the same build.
Error checkReaders() {
  const bool Any = !passPoints().empty() || any_of(Points, [](auto &F) {
    return !runnerOf(F.Point.Name).empty();
  });
  for (const std::string &Text : Common.Log.values()) {
    const std::string Name = halves(Text).first;
    if (!Any || (flagsOf(Name) && runnerOf(Name).empty()))
      return withoutAdvisor(Common.Log,
                            flagsOf(Name) ? StringRef(Name) : "inline");
  }
  for (const Option *O : {&Common.OnError, &Common.Timeout})
    if (O->given() && !Any)
      return withoutAdvisor(*O, "inline");
  for (const PointFlags &F : Points)
    if (F.Limit && F.Limit->given() && runnerOf(F.Point.Name).empty())
      return withoutAdvisor(*F.Limit, F.Point.Name);
  return Error::success();
}

} // namespace

Expected<Option::Settings> setOptions(const std::vector<std::string> &Options) {
  if (Options.empty())
    return Option::settings();
  std::vector<Option::Values> Given(Option::all().size());
  for (const std::string &Text : Options) {
    const auto [Name, Value] = StringRef(Text).split('=');
    const auto Found = find_if(
        Option::all(), [&](Option *O) { return O->shortName() == Name; });
    if (Found == Option::all().end() || Value.empty())
      return createStringError("registerAdvisors: expected an option such as "
                               "inline=RUNNER, got '" +
                               Text + "'");
    Given[Found - Option::all().begin()].push_back(Value.str());
  }
  const auto All =
      std::make_shared<const std::vector<Option::Values>>(std::move(Given));
  Option::setAll(All);
  return All;
}

bool advised(const std::string &Point) { return asks(runnerOf(Point), Point); }

bool advisedByChoice(const std::string &Point) {
  return asks(chosenRunner(Point), Point);
}

bool advisedByFlag(const std::string &Point) {
  return advisedByChoice(Point) &&
         (Common.Advise.given() || flagsOf(Point)->Runner.given() ||
          (Point == "inline" && Decisions.given()));
}

AdvisorOptions advisorOptions(const std::string &Point, const Module &M) {
  AdvisorOptions O;
  O.Runner = runnerOf(Point);
  O.Log = logOf(Point, M);
  O.Compilation = compilationOf(M);
  O.Triple = M.getTargetTriple().str();
  consumeError(Common.read(O)); // checkOptions() has reported it
  if (const PointFlags *Own = flagsOf(Point)) {
    O.Unasked = Own->Point.Unasked;
    consumeError(readLimit(*Own, O.Limit));
  }
  return O;
}

/// The error about options that this tool cannot follow at all.
static Error checkTogether() {
  const std::string Flag = newPassManagerFlag();
  const bool Given =
      any_of(Option::all(), [](const Option *O) { return !O->last().empty(); });
  if (!Flag.empty() && Given)
    return createStringError(
        "passpilot: expected llc's own choice of a pass manager, got " + Flag +
        ": its register allocator asks nobody; remove it");
  // Nothing here may need Python, which cannot start while we are loaded.
  const bool Changes =
      !Policy.last().empty() || !Unwind.last().empty() ||
      !Profile.last().empty() || !advisedPassPoints().empty() ||
      !textsAt().empty() ||
      any_of(Points, [](auto &F) { return advisedByChoice(F.Point.Name); });
  if (const StringRef Other = unadvisedLink(); Changes && !Other.empty())
    return createStringError("passpilot: expected an advised link without --" +
                             Other + ", got one; remove it");
  return Error::success();
}

/// Ends the tool as soon as such options are parsed. lld loads plugins on its
/// threads, too; then each pipeline reports the error.
static void refuseTogether() {
  if (Error E = checkTogether()) {
    const std::string Text = toString(std::move(E));
    if (getpid() == gettid())
      refuse(Text);
  }
}

void watchFlags(void (*OnFlag)()) {
  static void (*Also)() = OnFlag;
  Option::onFlag([] {
    refuseTogether();
    Also();
  });
  onNewPassManager(refuseTogether);
  refuseTogether();
}

Error checkOptions() {
  if (Error E = checkTogether())
    return E;
  if (Error E = checkValues())
    return E;
  if (Error E = setUnwindTables())
    return E;
  if (Error E = policy().check())
    return E;
  return checkReaders();
}

Error setUnwindTables() {
  const std::string Mode = Unwind.last();
  if (!Mode.empty() && !isUnwindMode(Mode))
    return createStringError(Unwind.name() + ": expected " + ExpectedUnwind +
                             ", got '" + Mode + "'");
  if (!Mode.empty())
    setUnlessGiven(std::string(UnwindName) + "=" + Mode, /*Position=*/1);
  return Error::success();
}

bool advisesOptimizer() {
  return !decisionFile().empty() || !profileFile().empty() ||
         !textsAt().empty() || !pipelineBehind().empty() ||
         any_of(Points,
                [](const PointFlags &F) {
                  return StringRef(F.Point.Function) == "optimize" &&
                         advised(F.Point.Name);
                }) ||
         any_of(passPoints(), [](const auto &P) {
           return none_of(emitPasses(), [&](const EmitPass &Late) {
             return Late.Point == P.first;
           });
         });
}

StockPolicy policy() { return StockPolicy(Policy.last()); }

std::string decisionFile() { return Decisions.last(); }

std::string profileFile() { return Profile.last(); }

std::string filesToLoad() { return join(Load.values(), ":"); }

std::vector<std::pair<std::string, std::string>> textsAt() {
  std::vector<std::pair<std::string, std::string>> Texts;
  for (const std::string &Text : At.values())
    Texts.push_back(halves(Text));
  return Texts;
}

std::string pipelineBehind() {
  const auto Texts = textsAt();
  const bool Chosen = !Decisions.last().empty() || any_of(Texts, [](auto &T) {
    return T.first == "optimizer-last";
  });
  return Chosen ? "" : policy().pipeline();
}

PointRunners advisedPassPoints() {
  PointRunners Pairs;
  for (const std::string &Text : Common.Advise.values())
    if (auto Pair = halves(Text); !flagsOf(Pair.first))
      Pairs.push_back(std::move(Pair));
  return Pairs;
}

std::string meantPoint(StringRef Name) {
  std::string Nearest;
  unsigned Least = 3; // letters
  for (const PointFlags &F : Points)
    if (const unsigned Letters = Name.edit_distance(F.Point.Name, true, Least);
        Letters < Least) {
      Least = Letters;
      Nearest = F.Point.Name;
    }
  return Nearest.empty() ? "" : "; did you mean '" + Nearest + "'?";
}

PointRunners passPoints() {
  auto Pairs = advisedPassPoints();
  for (const std::string &Point : policy().points())
    if (!flagsOf(Point) &&
        none_of(Pairs, [&](auto &P) { return P.first == Point; }))
      Pairs.emplace_back(Point, policy().runner(Point));
  return Pairs;
}

bool statsWanted() {
  const StringRef Variable(std::getenv("PASSPILOT_STATS"));
  return Common.Stats || (!Variable.empty() && Variable != "0");
}

} // namespace passpilot
