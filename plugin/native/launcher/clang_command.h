// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>
#include <vector>

namespace passpilot {

/// Becomes clang (or clang++) with the plugin and the variables that `passpilot
/// cc` would give it. Returns where that needs Python: for errors and help, for
/// options that name several things, for links with advice, for response files.
///
/// It follows cli/cc, which decides all that is left;
/// tests/cli/cc/test_launcher.py compares the two.
void tryToBecomeClang(bool cxx, const std::vector<std::string> &arguments,
                      const std::string &plugin);

} // namespace passpilot
