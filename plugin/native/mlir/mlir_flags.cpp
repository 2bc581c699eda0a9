// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mlir_flags.h"

#include "../loaded/refusal.h"
#include "inline_point.h"
#include "mlir_passes.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"

#include <cmath>
#include <functional>

using namespace llvm;

namespace passpilot {

namespace {

cl::OptionCategory Category("passpilot", "Who advises the passes");

void checkAdvise(const std::string &Text) {
  const auto [Point, Runner] = StringRef(Text).split('=');
  if (Point.empty() || Runner.empty())
    refuse("--passpilot-advise: expected POINT=RUNNER, got '" + Text + "'");
}

void checkValue(const char *Flag, const std::string &Text) {
  if (Text.empty())
    refuse(std::string("--passpilot-") + Flag + ": expected a value, got none");
}

void checkOnError(const std::string &Text) {
  if (Text != "fail" && Text != "default")
    refuse("--passpilot-on-error: expected fail or default, got '" + Text +
           "'");
}

void checkTimeout(const double &Seconds) {
  if (!std::isfinite(Seconds) || Seconds <= 0)
    refuse("--passpilot-timeout: expected a number above 0, got " +
           std::to_string(Seconds));
}

cl::opt<std::string>
    Inline("passpilot-inline", cl::value_desc("RUNNER"),
           cl::desc("Ask RUNNER about each call that MLIR may inline"),
           cl::cat(Category), cl::callback([](const std::string &Text) {
             checkValue("inline", Text);
           }));
cl::list<std::string>
    Advise("passpilot-advise", cl::value_desc("POINT=RUNNER"),
           cl::desc("Ask RUNNER at any decision point, also one of a pass in "
                    "Python"),
           cl::cat(Category),
           cl::callback([](const std::string &Text) { checkAdvise(Text); }));
cl::list<std::string>
    Log("passpilot-log", cl::value_desc("FILE"),
        cl::desc("Write every decision to a log (see passpilot log); "
                 "POINT=FILE for each of two advisors"),
        cl::cat(Category),
        cl::callback([](const std::string &Text) { checkValue("log", Text); }));
cl::opt<std::string>
    OnError("passpilot-on-error", cl::value_desc("fail|default"),
            cl::desc("What a failing runner does"), cl::init("fail"),
            cl::cat(Category),
            cl::callback([](const std::string &Text) { checkOnError(Text); }));
cl::opt<double>
    Timeout("passpilot-timeout", cl::value_desc("SECONDS"),
            cl::desc("How long to wait for another process (10)"), cl::init(10),
            cl::cat(Category),
            cl::callback([](const double &Seconds) { checkTimeout(Seconds); }));
cl::opt<bool> Stats("passpilot-stats", cl::desc("Print decisions and times"),
                    cl::cat(Category));

bool refused(const Twine &Text, Messages &Told) {
  Told.push_back({"error", Text.str()});
  return false;
}

/// The points that the flags name, each with its runner.
std::vector<Advised> named() {
  std::vector<Advised> Points;
  auto Add = [&Points](StringRef Point, StringRef Runner) {
    Advised &Each = Points.emplace_back();
    Each.Point = Point.str();
    Each.Options.Runner = Runner.str();
  };
  if (!Inline.empty())
    Add(mlirInlinePoint().Name, Inline);
  for (const std::string &Text : Advise) {
    const auto [Point, Runner] = StringRef(Text).split('=');
    Add(Point, Runner);
  }
  return Points;
}

/// Gives each log to its point.
bool addLogs(std::vector<Advised> &Points, Messages &Told) {
  for (const std::string &Text : Log) {
    const auto [Name, File] = StringRef(Text).split('=');
    Advised *Owner = Points.size() == 1 ? &Points.front() : nullptr;
    std::string Path = Text;
    for (Advised &P : Points)
      if (P.Point == Name && !File.empty())
        Owner = &P, Path = File.str();
    if (!Owner)
      return refused("--passpilot-log: expected POINT=FILE with the point of "
                     "an advisor, got '" +
                         Text + "'",
                     Told);
    if (!Owner->Options.Log.empty())
      return refused("--passpilot-log: expected one log for the point " +
                         Owner->Point + ", got two",
                     Told);
    Owner->Options.Log = Path;
  }
  return true;
}

} // namespace

std::optional<std::vector<Advised>> advisedPoints(Messages &Told) {
  std::vector<Advised> Points = named();
  for (size_t I = 0; I < Points.size(); ++I)
    for (size_t J = 0; J < I; ++J)
      if (Points[I].Point == Points[J].Point &&
          !refused("--passpilot-advise: expected one runner for the point " +
                       Points[I].Point + ", got two",
                   Told))
        return std::nullopt;
  for (const cl::Option &O :
       {std::cref<cl::Option>(Log), std::cref<cl::Option>(OnError),
        std::cref<cl::Option>(Timeout)})
    if (Points.empty() && O.getNumOccurrences() &&
        !refused("--" + O.ArgStr +
                     ": expected an advisor that it is for, got none; add "
                     "--passpilot-inline=default",
                 Told))
      return std::nullopt;
  if (!addLogs(Points, Told))
    return std::nullopt;
  for (Advised &P : Points) {
    P.Options.OnError = OnError;
    P.Options.Timeout = Timeout;
    P.Options.Unasked = "there is no call that may be inlined";
  }
  return Points;
}

bool advises() {
  return !Inline.empty() || !Advise.empty() || !Log.empty() ||
         OnError.getNumOccurrences() || Timeout.getNumOccurrences();
}

bool statsWanted() { return Stats; }

} // namespace passpilot
