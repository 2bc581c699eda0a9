// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#pragma once

#include <string>

namespace passpilot {

/// Adds \p Variable, a NAME=TEXT, to the environment unless the name is there.
void addVariable(const std::string &Variable);

} // namespace passpilot
