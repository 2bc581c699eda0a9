// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A C++ runner that Python can hold and call.

#ifndef PASSPILOT_BINDINGS_NATIVE_RUNNER_H
#define PASSPILOT_BINDINGS_NATIVE_RUNNER_H

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

#endif
