// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decisions of passes in Python.

#pragma once

#include "py_advisor.h"

namespace passpilot {

/// The site of the current decision, as the pass passed it.
nb::object passSiteOf(PyAdvisor &A);

void bindPassQuestion(nb::class_<PyAdvisor> &C);

} // namespace passpilot
