// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A runner in C++ that Python can hold and call.

#ifndef PASSPILOT_BINDINGS_NATIVE_RUNNER_H
#define PASSPILOT_BINDINGS_NATIVE_RUNNER_H

#include "../runtime/runner.h"
#include "nanobind_all.h"

#include <memory>

namespace passpilot {

struct NativeRunner {
  std::shared_ptr<Runner> Impl;
  std::vector<const void *> Inputs;
  nb::object Frame; ///< keeps what Inputs point into
};

} // namespace passpilot

#endif
