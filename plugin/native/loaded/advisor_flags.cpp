// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "advisor_flags.h"

#include "llvm/Support/FileSystem.h"

using namespace llvm;

namespace passpilot {

AdvisorFlags::AdvisorFlags()
    : Advise("advise", "POINT=RUNNER",
             "Ask RUNNER at a decision point of any pass"),
      Log("log", "FILE|FOLDER/",
          "Write every decision to a log: FILE, or files in FOLDER; "
          "POINT=FILE for each of two advisors"),
      OnError("on-error", "fail|default",
              "If a runner fails, end with its error (fail, unless given) or "
              "let the compiler decide (default)"),
      Timeout("timeout", "SECONDS",
              "How long to wait: for another process (10)"),
      Stats("passpilot-stats", cl::desc("Print what the advisors did"),
            cl::cat(optionCategory())) {}

bool isLogFolder(StringRef Path) {
  if (Path.ends_with("/"))
    (void)sys::fs::create_directories(
        Path); // the log's file says what is wrong
  return sys::fs::is_directory(Path);
}

Error expectPairs(const Option &O, const char *Value) {
  for (const std::string &Text : O.values())
    if (const auto [Name, Second] = StringRef(Text).split('=');
        Name.empty() || Second.empty())
      return createStringError(O.name() + ": expected POINT=" + Value +
                               ", got '" + Text + "'");
  return Error::success();
}

Error withoutAdvisor(const Option &O, StringRef Point) {
  return createStringError(
      O.name() + " has no effect without an advisor; add " +
      TheOptionStyle.Dashes + "passpilot-" + Point + "=RUNNER");
}

Error AdvisorFlags::check() const {
  if (Error E = expectPairs(Advise, "RUNNER"))
    return E;
  for (const Option *O : Option::all())
    if (O->given() && O->last().empty())
      return createStringError(O->name() + ": expected a value, got none");
  AdvisorOptions Unused;
  return read(Unused);
}

Error AdvisorFlags::read(AdvisorOptions &O) const {
  if (const std::string Text = OnError.last(); !Text.empty())
    O.OnError = Text;
  if (O.OnError != "fail" && O.OnError != "default")
    return createStringError(
        OnError.name() + ": expected fail or default, got '" + O.OnError + "'");
  return Timeout.number(1e-9, O.Timeout);
}

} // namespace passpilot
