// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "host_features.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/Host.h"

namespace passpilot {

std::vector<std::string> hostFeatures() {
  std::vector<std::string> Found;
  for (const auto &F : llvm::sys::getHostCPUFeatures())
    if (F.second)
      Found.push_back(F.first().str());
  return Found;
}

} // namespace passpilot
