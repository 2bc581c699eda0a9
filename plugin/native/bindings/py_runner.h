// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A runner that calls a Python function.

#ifndef PASSPILOT_BINDINGS_PY_RUNNER_H
#define PASSPILOT_BINDINGS_PY_RUNNER_H

#include "py_advisor.h"

namespace passpilot {

/// Calls the Python runner of \p A. GIL: taken for the call; the compiling
/// thread runs without it. \p A owns the session that owns it, and outlives it.
std::unique_ptr<Runner>
makePyRunner(PyAdvisor &A, std::vector<TensorSpec> Inputs, TensorSpec Output);

} // namespace passpilot

#endif
