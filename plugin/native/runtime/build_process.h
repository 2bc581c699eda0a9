// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Finds the build that this process belongs to, as cli/cc/build_process.py
// does, for what is said once in a build. The plugin for stock tools has it,
// too.

#pragma once

#include <string>

namespace passpilot {

/// A text that no other build has; empty for a command that a person has typed,
/// and where nobody can say.
std::string buildHere();

/// The file that notes in the user's cache what was said in a build; empty if
/// nobody can say where that is.
std::string saidFile(const std::string &key);

/// Whether \p key was said in the build \p build a while ago; then the note of
/// it is new.
bool wasSaid(const std::string &build, const std::string &key);

/// Whether a build system only tries the compiler with \p source: some take any
/// message for a failure.
bool isProbe(const std::string &source);

} // namespace passpilot
