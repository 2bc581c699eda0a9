// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "flags.h"

#include "../llvm/points.h"

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

using namespace llvm;

namespace passpilot {

namespace {

cl::OptionCategory Category("passpilot", "Who advises the compiler");

/// A repeatable flag and the environment variable that stands for it.
class Option {
public:
  Option(StringRef Name, const char *Value, const Twine &Help)
      : Flag(("passpilot-" + Name).str()), Help(Help.str()),
        Variable("PASSPILOT_" + replaced(Name)),
        Given(StringRef(Flag), cl::value_desc(Value), cl::desc(this->Help),
              cl::cat(Category)) {
    All.push_back(this);
  }
  Option(const Option &) = delete;

  static inline std::vector<Option *> All;
  /// The flag without its prefix: "inline".
  StringRef shortName() const { return StringRef(Flag).drop_front(10); }
  using Values = std::vector<std::string>;
  /// \p Given has the values of each option, in the order of All.
  static void setAll(std::vector<Values> Given) {
    std::lock_guard<std::mutex> Lock(Mutex);
    for (auto [O, Mine] : zip_equal(All, Given))
      O->Set = std::move(Mine);
  }

  /// All values; those of the variable are separated by semicolons.
  std::vector<std::string> all() const {
    if (Values Mine = set(); !Mine.empty())
      return Mine;
    if (!Given.empty())
      return {Given.begin(), Given.end()};
    const char *Text = std::getenv(Variable.c_str());
    SmallVector<StringRef> Parts;
    StringRef(Text ? Text : "").split(Parts, ';', -1, /*KeepEmpty=*/false);
    return {Parts.begin(), Parts.end()};
  }
  /// The last value; empty if there is none.
  std::string last() const {
    if (Values Mine = set(); !Mine.empty())
      return Mine.back();
    if (!Given.empty())
      return Given[Given.size() - 1];
    const char *Text = std::getenv(Variable.c_str());
    return Text ? Text : "";
  }
  /// Whether any value comes from a flag, not from the variable.
  bool given() const { return !Given.empty() || !set().empty(); }
  std::string name() const {
    return !set().empty()  ? shortName().str()
           : Given.empty() ? Variable
                           : "-" + Flag;
  }

private:
  const std::string Flag, Help, Variable; ///< Given refers to them
  cl::list<std::string> Given;
  Values Set; ///< set by the program, on any of its threads
  static inline std::mutex Mutex;

  /// Converts "size-budget" to "SIZE_BUDGET".
  static std::string replaced(StringRef Name) {
    std::string Text = Name.upper();
    std::replace(Text.begin(), Text.end(), '-', '_');
    return Text;
  }

  Values set() const {
    std::lock_guard<std::mutex> Lock(Mutex);
    return Set;
  }
};

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

Option Advise("advise", "POINT=RUNNER",
              "Ask RUNNER at a decision point of any pass");
Option Load("load", "FILE.py",
            "Register the passes, features, runners and decision points in it");
Option At("at", "POINT=PIPELINE",
          "Run a pipeline at one of LLVM's extension points");
Option Log("log", "FILE",
           "Write every decision to a log; POINT=FILE for each of two "
           "advisors, a folder for a log per module");
Option OnError("on-error", "fail|default", "What a failing runner does");
Option Timeout("timeout", "SECONDS",
               "How long to wait for another process (10)");
cl::opt<bool> Stats("passpilot-stats", cl::desc("Tell what the advisors did"),
                    cl::cat(Category));

std::pair<std::string, std::string> halves(StringRef Text) {
  const auto [Name, Value] = Text.split('=');
  return {Name.str(), Value.str()};
}

bool refuse(const std::string &Text, Messages &Told) {
  Told.push_back({"error", Text});
  return false;
}

bool number(const Option &O, double Least, double &Value, Messages &Told) {
  const std::string Text = O.last();
  if (Text.empty())
    return true;
  double Given = 0;
  if (to_float(Text, Given) && std::isfinite(Given) && Given >= Least) {
    Value = Given;
    return true;
  }
  return refuse(O.name() + ": expected a number" +
                    (Least > 0 ? " above 0" : " of 0 or more") + ", got '" +
                    Text + "'",
                Told);
}

/// The runner at \p Point. Flags win over variables, for both options.
std::string runnerOf(StringRef Point) {
  const PointFlags *Own = flagsOf(Point);
  if (Own && Own->Runner.given() && !Advise.given())
    return Own->Runner.last();
  for (const std::string &Text : Advise.all())
    if (const auto [Name, Runner] = halves(Text); Name == Point)
      return Runner;
  return Own ? Own->Runner.last() : "";
}

/// Distinguishes compilations of the same source: PASSPILOT_UNIT, or else the
/// command line.
std::string unit() {
  if (const char *Unit = std::getenv("PASSPILOT_UNIT"))
    return Unit;
  const auto Command = MemoryBuffer::getFileAsStream("/proc/self/cmdline");
  return Command ? (*Command)->getBuffer().str() : "";
}

/// The module's name; the source's if clang made a temporary file for a linker.
StringRef nameOf(const Module &M) {
  SmallString<64> Temporary;
  sys::path::system_temp_directory(/*ErasedOnReboot=*/true, Temporary);
  const StringRef Name = M.getModuleIdentifier();
  return sys::path::parent_path(Name) == Temporary ? M.getSourceFileName()
                                                   : Name;
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

/// The log's path in a folder; the same source and command give the same path.
std::string logIn(StringRef Folder, StringRef Point, const Module &M) {
  SmallString<128> Whole(nameOf(M));
  sys::fs::make_absolute(Whole);
  const uint64_t Hash = xxh3_64bits((Whole + unit()).str());
  SmallString<128> Path(Folder);
  sys::path::append(Path, sys::path::filename(nameOf(M)) + "-" +
                              utohexstr(Hash, /*LowerCase=*/true) + "-" +
                              Point);
  return (Path + repeated(Path.str().str()) + ".log").str();
}

bool isPoint(StringRef Name) {
  return flagsOf(Name) || any_of(passPoints(), [&](const auto &Pair) {
           return Pair.first == Name;
         });
}

/// Whether there is a log for \p Point.
bool logged(StringRef Point) {
  return any_of(Log.all(), [&](const std::string &Text) {
    const std::string Name = halves(Text).first;
    return Name == Point || !isPoint(Name);
  });
}

/// The log of \p Point; empty if there is none.
std::string logOf(StringRef Point, const Module &M) {
  std::string Path;
  for (const std::string &Text : Log.all()) {
    const auto [Name, File] = halves(Text);
    if (!isPoint(Name))
      Path = Text;
    else if (Name == Point)
      return File;
  }
  return sys::fs::is_directory(Path) ? logIn(Path, Point, M) : Path;
}

/// Reads the flags that only LLVM's points have.
bool limitOf(const PointFlags &Own, AdvisorOptions &O, Messages &Told) {
  O.Unasked = Own.Point.Unasked;
  O.Limit = Own.Point.Limit.Default;
  if (!Own.Limit)
    return true;
  if (!number(*Own.Limit, 0, O.Limit, Told))
    return false;
  if (!Own.Point.Limit.Whole ||
      (O.Limit == std::floor(O.Limit) && O.Limit < 4294967296.0))
    return true;
  return refuse(Own.Limit->name() + ": expected an integer of 0 to " +
                    "4294967295, got '" + Own.Limit->last() + "'",
                Told);
}

} // namespace

Error setOptions(const std::vector<std::string> &Options) {
  std::vector<Option::Values> Given(Option::All.size());
  for (const std::string &Text : Options) {
    const auto [Name, Value] = StringRef(Text).split('=');
    const auto Found =
        find_if(Option::All, [&](Option *O) { return O->shortName() == Name; });
    if (Found == Option::All.end() || Value.empty())
      return createStringError("registerAdvisors: expected an option such as "
                               "inline=RUNNER, got '" +
                               Text + "'");
    Given[Found - Option::All.begin()].push_back(Value.str());
  }
  if (!Options.empty())
    Option::setAll(std::move(Given));
  return Error::success();
}

bool advised(const std::string &Point) {
  const std::string Runner = runnerOf(Point);
  // LLVM needs no advisor if the default decides without a log.
  return !Runner.empty() && (Runner != "default" || logged(Point));
}

bool advisorOptions(const std::string &Point, const Module &M,
                    AdvisorOptions &O, Messages &Told) {
  O.Runner = runnerOf(Point);
  O.Log = logOf(Point, M);
  if (const std::string Text = OnError.last(); !Text.empty())
    O.OnError = Text;
  if (O.OnError != "fail" && O.OnError != "default")
    return refuse(OnError.name() + ": expected fail or default, got '" +
                      O.OnError + "'",
                  Told);
  if (!number(Timeout, 1e-9, O.Timeout, Told))
    return false;
  const PointFlags *Own = flagsOf(Point);
  return !Own || limitOf(*Own, O, Told);
}

Error checkOptions() {
  for (const Option *O : {&Advise, &At})
    for (const std::string &Text : O->all())
      if (const auto [Name, Value] = halves(Text);
          Name.empty() || Value.empty())
        return createStringError(O->name() + ": expected POINT=" +
                                 (O == &At ? "PIPELINE" : "RUNNER") +
                                 ", got '" + Text + "'");
  std::vector<const Option *> Needed = {&Load, &Log};
  for (const PointFlags &F : Points)
    Needed.push_back(&F.Runner);
  for (const Option *O : Needed)
    if (O->given() && O->last().empty())
      return createStringError(O->name() + ": expected a value, got none");
  return Error::success();
}

std::string filesToLoad() { return join(Load.all(), ":"); }

std::vector<std::pair<std::string, std::string>> textsAt() {
  std::vector<std::pair<std::string, std::string>> Texts;
  for (const std::string &Text : At.all())
    Texts.push_back(halves(Text));
  return Texts;
}

std::vector<std::pair<std::string, std::string>> passPoints() {
  std::vector<std::pair<std::string, std::string>> Pairs;
  for (const std::string &Text : Advise.all())
    if (auto Pair = halves(Text); !flagsOf(Pair.first))
      Pairs.push_back(std::move(Pair));
  return Pairs;
}

bool statsWanted() {
  const StringRef Variable(std::getenv("PASSPILOT_STATS"));
  return Stats || (!Variable.empty() && Variable != "0");
}

} // namespace passpilot
