// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How a plugin ends the tool that has loaded it.

#pragma once

#include <string>

namespace passpilot {

/// Reports an error outside of any compilation and ends the tool.
[[noreturn]] void refuse(const std::string &Text);

/// Notes that an error was reported: at the end of the process, the tool's
/// unfinished outputs are removed.
void noteFailure();
bool hasFailed();

} // namespace passpilot
