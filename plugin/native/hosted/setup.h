// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM in this process: initialization, command-line options, statistics.

#pragma once

#include <string>
#include <vector>

namespace passpilot {

/// Registers targets, passes and the handler of fatal errors; runs once.
void initializeLLVM();

/// Writes the reason of a fatal error, which ends this process, to a descriptor
/// and not to stderr.
void tellFatalErrors(int Descriptor);

/// Marks that this thread's compilation reads LLVM's process-wide options,
/// while the object lives. Compilations nest: a policy may read a module.
class OptionsInUse {
public:
  OptionsInUse();
  ~OptionsInUse();
  OptionsInUse(const OptionsInUse &) = delete;

  /// Calls \p Change, which resets options, if only this thread's innermost
  /// OptionsInUse lives. Compilations for several targets at once share LLVM's
  /// values.
  static void ifAlone(void (*Change)());
};

/// Parses LLVM's options ("-inline-threshold=50"), which are process-wide.
/// Throws InputError, also while another thread uses them.
void parseOptions(const std::vector<std::string> &Arguments,
                  const std::vector<std::string> &Forgotten);
/// Whether \p Name is an LLVM option, and whether the next argument may be its
/// value.
enum class OptionKind { Unknown, Flag, TakesValue };
OptionKind optionKind(const std::string &Name);
/// The report of -stats, if the option is set.
std::string statistics();
std::string passNames();
std::string versionText();

} // namespace passpilot
