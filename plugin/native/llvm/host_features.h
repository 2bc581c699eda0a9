// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#pragma once

#include <string>
#include <vector>

namespace passpilot {

/// The features of this machine's processor, by LLVM's names.
std::vector<std::string> hostFeatures();

} // namespace passpilot
