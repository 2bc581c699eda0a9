// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decisions of passes in Python.

#ifndef PASSPILOT_BINDINGS_PASS_QUESTION_H
#define PASSPILOT_BINDINGS_PASS_QUESTION_H

#include "py_advisor.h"

namespace passpilot {

/// The site of the present decision, as the pass gave it.
nb::object passSiteOf(PyAdvisor &A);

void bindPassQuestion(nb::class_<PyAdvisor> &C);

} // namespace passpilot

#endif
