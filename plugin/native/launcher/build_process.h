// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Finds the build that this process belongs to, as cli/cc/build_process.py
// does.

#pragma once

#include <string>

namespace passpilot {

/// A text that no other build has; empty for a command that a person has typed,
/// and where nobody can say.
std::string buildHere();

} // namespace passpilot
