// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A C++ runner that Python can hold and call.

#pragma once

#include "../runtime/runner.h"
#include "nanobind_all.h"

#include <memory>

namespace passpilot {

struct NativeRunner {
  std::shared_ptr<Runner> Impl;
  std::vector<const void *> Inputs;
  nb::object Frame; ///< keeps the memory of Inputs alive
};

} // namespace passpilot
