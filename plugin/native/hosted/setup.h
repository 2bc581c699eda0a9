// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM in this process: its set-up, its command-line options, its names.

#ifndef PASSPILOT_HOSTED_SETUP_H
#define PASSPILOT_HOSTED_SETUP_H

#include <string>
#include <vector>

namespace passpilot {

/// Registers targets and passes, and the handler of LLVM's fatal errors; once.
void initializeLLVM();

/// Parses LLVM's own options ("-inline-threshold=50"); process-wide. Throws
/// InputError.
void parseOptions(const std::vector<std::string> &Arguments);
/// Whether \p Name is an option of LLVM's, and whether its value may be the
/// next argument.
enum class OptionKind { Unknown, Flag, TakesValue };
OptionKind optionKind(const std::string &Name);
/// The report of -stats, if it is on.
std::string statistics();
/// Whether -print-pipeline-passes is set: opt then prints the pipeline and
/// stops.
bool printsPipeline();
std::string passNames();
std::string versionText();

} // namespace passpilot

#endif
