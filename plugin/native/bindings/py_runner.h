// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A runner that calls a Python function.

#pragma once

#include "py_advisor.h"

namespace passpilot {

/// Calls the Python runner of \p A. GIL: taken for the call; the compiling
/// thread runs without it. \p A's session owns the result, so A outlives it.
std::unique_ptr<Runner>
makePyRunner(PyAdvisor &A, std::vector<TensorSpec> Inputs, TensorSpec Output);

} // namespace passpilot
