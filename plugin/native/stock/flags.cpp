// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "flags.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/xxhash.h"

#include <cmath>
#include <cstdlib>
#include <mutex>

using namespace llvm;

namespace passpilot {

namespace {

cl::OptionCategory Category("passpilot", "Who advises the compiler");

/// A flag that may be repeated, and the variable that stands for it.
class Option {
public:
  Option(const char *Name, const char *Variable, const char *Value,
         const char *Help)
      : Variable(Variable), Given(StringRef(Name), cl::value_desc(Value),
                                  cl::desc(Help), cl::cat(Category)) {
    All.push_back(this);
  }

  static inline std::vector<Option *> All;
  /// "inline".
  StringRef shortName() const { return Given.ArgStr.drop_front(10); }
  using Values = std::vector<std::string>;
  /// \p Given are those of each option, in the order of All.
  static void setAll(std::vector<Values> Given) {
    std::lock_guard<std::mutex> Lock(Mutex);
    for (auto [O, Mine] : zip_equal(All, Given))
      O->Set = std::move(Mine);
  }

  /// Its values; those of the variable are separated by semicolons.
  std::vector<std::string> all() const {
    if (Values Mine = set(); !Mine.empty())
      return Mine;
    if (!Given.empty())
      return {Given.begin(), Given.end()};
    const char *Text = std::getenv(Variable);
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
    const char *Text = std::getenv(Variable);
    return Text ? Text : "";
  }
  /// Whether there is a value beside the variable's.
  bool given() const { return !Given.empty() || !set().empty(); }
  std::string name() const {
    return !set().empty()  ? shortName().str()
           : Given.empty() ? Variable
                           : "-" + Given.ArgStr.str();
  }

private:
  const char *const Variable;
  cl::list<std::string> Given;
  Values Set; ///< by the program itself, on any of its threads
  static inline std::mutex Mutex;

  Values set() const {
    std::lock_guard<std::mutex> Lock(Mutex);
    return Set;
  }
};

Option Inline("passpilot-inline", "PASSPILOT_INLINE", "RUNNER",
              "Ask RUNNER about each call site");
Option Evict("passpilot-evict", "PASSPILOT_EVICT", "RUNNER",
             "Ask RUNNER which live range to evict when registers run out");
Option Priority("passpilot-priority", "PASSPILOT_PRIORITY", "RUNNER",
                "Ask RUNNER how early to allocate each live range");
Option Advise("passpilot-advise", "PASSPILOT_ADVISE", "POINT=RUNNER",
              "Ask RUNNER at a decision point of any pass");
Option Load("passpilot-load", "PASSPILOT_LOAD", "FILE.py",
            "Register the passes, features, runners and decision points in it");
Option At("passpilot-at", "PASSPILOT_AT", "POINT=PIPELINE",
          "Run a pipeline at one of LLVM's extension points");
Option Log("passpilot-log", "PASSPILOT_LOG", "FILE",
           "Write every decision to a log; POINT=FILE for each of two "
           "advisors, a folder for a log per module");
Option OnError("passpilot-on-error", "PASSPILOT_ON_ERROR", "fail|default",
               "What a failing runner does");
Option Timeout("passpilot-timeout", "PASSPILOT_TIMEOUT", "SECONDS",
               "How long to wait for another process (10)");
Option SizeBudget("passpilot-size-budget", "PASSPILOT_SIZE_BUDGET", "FACTOR",
                  "Let the default decide once the module is FACTOR times its "
                  "size (4); 0: no limit");
Option EvictionLimit("passpilot-eviction-limit", "PASSPILOT_EVICTION_LIMIT",
                     "COUNT",
                     "How often a live range may be evicted (100); 0: no "
                     "limit");
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

const StringRef Points[] = {"inline", "evict", "priority"};

/// Flags win over variables, whichever of the two options they belong to.
std::string runnerOf(StringRef Point) {
  const Option &Own = Point == "inline"  ? Inline
                      : Point == "evict" ? Evict
                                         : Priority;
  if (Own.given() && !Advise.given())
    return Own.last();
  for (const std::string &Text : Advise.all())
    if (const auto [Name, Runner] = halves(Text); Name == Point)
      return Runner;
  return Own.last();
}

/// What tells apart two compilations of one source: PASSPILOT_UNIT, or else the
/// command.
std::string unit() {
  if (const char *Unit = std::getenv("PASSPILOT_UNIT"))
    return Unit;
  const auto Command = MemoryBuffer::getFileAsStream("/proc/self/cmdline");
  return Command ? (*Command)->getBuffer().str() : "";
}

/// What a module is called: clang gives the linker temporary files.
StringRef nameOf(const Module &M) {
  SmallString<64> Temporary;
  sys::path::system_temp_directory(/*ErasedOnReboot=*/true, Temporary);
  const StringRef Name = M.getModuleIdentifier();
  return sys::path::parent_path(Name) == Temporary ? M.getSourceFileName()
                                                   : Name;
}

/// How often the process has taken this name for a log before: a linker may
/// compile several modules of one name.
std::string repeated(const std::string &Stem) {
  static std::mutex Mutex;
  static StringMap<unsigned> Taken;
  std::lock_guard<std::mutex> Lock(Mutex);
  const unsigned Times = ++Taken[Stem];
  return Times == 1 ? "" : "-" + std::to_string(Times);
}

/// The log of \p Point in a folder: the same for the same source and command.
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
  return is_contained(Points, Name) ||
         any_of(passPoints(),
                [&](const auto &Pair) { return Pair.first == Name; });
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

const char *unasked(StringRef Point) {
  if (Point == "inline")
    return "the pipeline has no inliner that asks (as default<O2> and "
           "inliner-wrapper do; a bare inline does not)";
  return "the register allocator asks nobody (as at -O0 or with "
         "-regalloc=fast)";
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
  // Where the default decides and nobody wants a log, LLVM stays as it is.
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
  O.Unasked = unasked(Point);
  O.Limit = Point == "inline" ? 4 : Point == "evict" ? 100 : 0;
  if (!number(Timeout, 1e-9, O.Timeout, Told))
    return false;
  if (Point == "inline")
    return number(SizeBudget, 0, O.Limit, Told);
  if (Point != "evict" || !number(EvictionLimit, 0, O.Limit, Told))
    return Point != "evict";
  if (O.Limit == std::floor(O.Limit) && O.Limit < 4294967296.0)
    return true;
  return refuse(EvictionLimit.name() + ": expected an integer of 0 to " +
                    "4294967295, got '" + EvictionLimit.last() + "'",
                Told);
}

Error checkOptions() {
  for (const Option *O : {&Advise, &At})
    for (const std::string &Text : O->all())
      if (const auto [Name, Value] = halves(Text);
          Name.empty() || Value.empty())
        return createStringError(O->name() + ": expected POINT=" +
                                 (O == &At ? "PIPELINE" : "RUNNER") +
                                 ", got '" + Text + "'");
  for (const Option *O : {&Inline, &Evict, &Priority, &Load, &Log})
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
    if (auto Pair = halves(Text); !is_contained(Points, Pair.first))
      Pairs.push_back(std::move(Pair));
  return Pairs;
}

bool statsWanted() {
  const StringRef Variable(std::getenv("PASSPILOT_STATS"));
  return Stats || (!Variable.empty() && Variable != "0");
}

} // namespace passpilot
