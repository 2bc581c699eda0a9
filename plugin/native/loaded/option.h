// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One option of a plugin: a repeatable flag -passpilot-NAME, which the tool
// parses, or the environment variable PASSPILOT_NAME instead.

#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace passpilot {

/// How a plugin's options are given.
struct OptionStyle {
  const char *Dashes; ///< in front of a flag, for messages
  bool HasVariables;  ///< an environment variable may stand for a flag
};
/// Each plugin defines its own.
extern const OptionStyle TheOptionStyle;

/// The category of our flags in help texts.
llvm::cl::OptionCategory &optionCategory();

class Option {
public:
  Option(llvm::StringRef Name, const char *Value, const llvm::Twine &Help);
  Option(const Option &) = delete;

  using Values = std::vector<std::string>;
  /// Every option, in the order of their construction.
  static const std::vector<Option *> &all();
  /// The values of each option that a program has set, in the order of all();
  /// null if it has set none.
  using Settings = std::shared_ptr<const std::vector<Values>>;
  /// Sets those of the process.
  static void setAll(Settings All);
  /// Those that this thread reads: the process's, but for a SettingsInUse.
  static Settings settings();
  /// Refuses a variable whose name is nearly that of an option.
  static llvm::Error checkVariables();
  /// Calls \p Call whenever the tool has parsed one of our flags.
  static void onFlag(void (*Call)()) { OnFlag = Call; }

  /// The flag without its prefix: "inline".
  llvm::StringRef shortName() const {
    return llvm::StringRef(Flag).drop_front(10);
  }
  /// All values; those of the variable are separated by semicolons.
  Values values() const;
  /// The last value; empty if there is none.
  std::string last() const;
  /// Whether any value comes from a flag, not from the variable.
  bool given() const { return !Given.empty() || !set().empty(); }
  /// Where the value comes from, for messages.
  std::string name() const;

  /// Reads the last value as a number of at least \p Least into \p Value, if
  /// there is one.
  llvm::Error number(double Least, double &Value) const;

private:
  const std::string Flag, Help, Variable; ///< Given refers to them
  llvm::cl::list<std::string> Given;
  const size_t Index; ///< in all()
  static inline void (*OnFlag)() = nullptr;

  Values set() const;
  std::string variable() const; ///< the variable's text; empty without one
};

/// While it lives, its thread reads these settings, whatever other threads set.
class SettingsInUse {
public:
  explicit SettingsInUse(Option::Settings S = Option::settings());
  ~SettingsInUse();
  SettingsInUse(const SettingsInUse &) = delete;

private:
  std::optional<Option::Settings> Before;
};

} // namespace passpilot
