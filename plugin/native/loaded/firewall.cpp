// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "firewall.h"

#include <exception>

namespace passpilot {

bool contained(Messages &Report, llvm::function_ref<void()> Body) noexcept {
  try {
    Body();
    return true;
  } catch (const std::exception &E) {
    Report.push_back({"error", std::string("passpilot: expected no exception, "
                                           "got: ") +
                                   E.what()});
    return false;
  }
}

} // namespace passpilot
