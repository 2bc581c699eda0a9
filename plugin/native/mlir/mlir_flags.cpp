// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mlir_flags.h"

#include "../loaded/advisor_flags.h"
#include "../loaded/refusal.h"
#include "inline_point.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/xxhash.h"

using namespace llvm;

namespace passpilot {

const OptionStyle TheOptionStyle = {"--", /*HasVariables=*/false};

namespace {

AdvisorFlags Common;
Option Inline("inline", "RUNNER",
              "Ask RUNNER about each call that MLIR may inline");

/// Ends the tool at the first wrong value.
[[maybe_unused]] const bool Watched = [] {
  Option::onFlag([] {
    if (Error E = Common.check())
      refuse(toString(std::move(E)));
  });
  return true;
}();

bool refused(const Twine &Text, Messages &Report) {
  Report.push_back({"error", Text.str()});
  return false;
}

/// The points that the flags name, each with its runner.
std::vector<Advised> named() {
  std::vector<Advised> Points;
  auto Add = [&Points](StringRef Point, StringRef Runner) {
    Advised &Named = Points.emplace_back();
    Named.Point = Point.str();
    Named.Options.Runner = Runner.str();
  };
  for (const std::string &Runner : Inline.values())
    Add(mlirInlinePoint().Name, Runner);
  for (const std::string &Text : Common.Advise.values()) {
    const auto [Point, Runner] = StringRef(Text).split('=');
    Add(Point, Runner);
  }
  return Points;
}

/// The log's path in a folder; the same command at the same place gives the
/// same path.
std::string logIn(const std::string &Folder, const std::string &Point) {
  SmallString<256> Words;
  (void)sys::fs::current_path(Words);
  if (const auto Command = MemoryBuffer::getFileAsStream("/proc/self/cmdline"))
    Words += (*Command)->getBuffer();
  return Folder + "/mlir-" + utohexstr(xxh3_64bits(Words), /*LowerCase=*/true) +
         "-" + Point + ".log";
}

/// Gives each log to its point.
bool addLogs(std::vector<Advised> &Points, Messages &Report) {
  for (const std::string &Text : Common.Log.values()) {
    const auto [Name, File] = StringRef(Text).split('=');
    Advised *Owner = Points.size() == 1 ? &Points.front() : nullptr;
    std::string Path = Text;
    for (Advised &P : Points)
      if (P.Point == Name && !File.empty())
        Owner = &P, Path = File.str();
    if (!Owner && isLogFolder(Text)) {
      for (Advised &P : Points)
        P.Options.Log = logIn(Text, P.Point);
      continue;
    }
    if (!Owner)
      return refused("--passpilot-log: expected POINT=FILE with the point of "
                     "an advisor, got '" +
                         Text + "'",
                     Report);
    if (!Owner->Options.Log.empty())
      return refused("--passpilot-log: expected one log for the point " +
                         Owner->Point + ", got two",
                     Report);
    Owner->Options.Log = isLogFolder(Path) ? logIn(Path, Owner->Point) : Path;
  }
  return true;
}

} // namespace

std::optional<std::vector<Advised>> advisedPoints(Messages &Report) {
  std::vector<Advised> Points = named();
  for (size_t I = 0; I < Points.size(); ++I)
    for (size_t J = 0; J < I; ++J)
      if (Points[I].Point == Points[J].Point &&
          !refused("--passpilot-advise: expected one runner for the point " +
                       Points[I].Point + ", got two",
                   Report))
        return std::nullopt;
  for (const Option *O : {&Common.Log, &Common.OnError, &Common.Timeout})
    if (Points.empty() && O->given() &&
        !refused(toString(withoutAdvisor(*O, "inline")), Report))
      return std::nullopt;
  if (!addLogs(Points, Report))
    return std::nullopt;
  for (Advised &P : Points) {
    cantFail(Common.read(P.Options)); // the values are checked
    P.Options.Unasked = "there is no call that may be inlined";
  }
  return Points;
}

bool advises() {
  return any_of(ArrayRef({&Inline, &Common.Advise, &Common.Log, &Common.OnError,
                          &Common.Timeout}),
                [](const Option *O) { return O->given(); });
}

bool statsWanted() { return Common.Stats; }

} // namespace passpilot
