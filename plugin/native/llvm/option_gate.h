// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM's options of code generation are variables of the process, but a policy
// or a decision file sets them for one module. A hold keeps the values that its
// thread needs: holds with equal values live at the same time, a thread that
// needs another value of an option waits. What the user has set always stays.

#pragma once

#include <optional>
#include <string>
#include <vector>

namespace passpilot {

/// Makes the passes of a code generation outline code in all functions.
inline constexpr const char *OutlinesAll = "enable-machine-outliner=always";

/// Options of LLVM's as NAME or NAME=VALUE, all of permitted.h; the first of a
/// name counts.
using OptionTexts = std::vector<std::string>;

/// Who reads the options: LLVM's optimizer, what adds the passes of a code
/// generation, or the passes while they run.
enum class OptionReader { Optimizer, PassConfig, CodeGenerator };

/// While it lives, the options that \p Reader reads have the values of \p
/// Options; those without a value have LLVM's default. Holds of one thread may
/// nest: while the inner one lives the outer one is suspended, so no thread
/// waits for another one with a hold of its own.
/// Threads: destroy it on its thread. Do not wait for it with the GIL.
class OptionHold {
public:
  OptionHold(OptionReader Reader, const OptionTexts &Options);
  ~OptionHold();
  OptionHold(const OptionHold &) = delete;

  /// Whether this thread adds passes under a hold.
  static bool addsPasses();
  /// Why an option does not have its value; empty if all have.
  const std::string &error() const { return Error; }

private:
  struct Use {
    size_t Option;
    std::optional<std::string> Value;
    bool Held = false; ///< not if the user has set the option
  };
  std::vector<Use> Uses;
  const bool AddsPasses;
  OptionHold *Outer;
  std::string Error;

  void acquire();
  void release();
  const Use *conflict() const;
};

/// Whether anything in the process sets options for a module. Until then the
/// optimizer needs no hold.
bool setsOptions();
/// Call this when a policy has options.
void noteOptions();

/// Whether LLVM has the option that \p Text sets.
bool hasOption(const std::string &Text);

/// The first option that is read when passes are added and differs between the
/// options of that time and those of the module; empty if there is none.
std::string lateOption(const OptionTexts &Added, const OptionTexts &Wanted);

} // namespace passpilot
