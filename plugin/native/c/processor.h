// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What this machine's processor has, by LLVM's names, where there is no LLVM.

#ifndef PASSPILOT_C_PROCESSOR_H
#define PASSPILOT_C_PROCESSOR_H

#include <string>
#include <vector>

namespace passpilot {

/// What a compiled model may need.
std::vector<std::string> processorFeatures();

} // namespace passpilot

#endif
