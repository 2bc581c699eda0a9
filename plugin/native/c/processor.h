// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The features of this machine's processor, by LLVM's names but without LLVM.

#ifndef PASSPILOT_C_PROCESSOR_H
#define PASSPILOT_C_PROCESSOR_H

#include <string>
#include <vector>

namespace passpilot {

/// The features that a compiled model may need.
std::vector<std::string> processorFeatures();

} // namespace passpilot

#endif
