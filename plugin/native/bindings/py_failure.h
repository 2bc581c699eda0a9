// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What went wrong in an advisor or in a pass, with the exception that Python
// raised.

#ifndef PASSPILOT_BINDINGS_PY_FAILURE_H
#define PASSPILOT_BINDINGS_PY_FAILURE_H

#include "../llvm/user_pass.h"
#include "../runtime/session.h"
#include "nanobind_all.h"

#include <optional>

namespace passpilot {

/// Of an advisor.
struct PyFailure {
  Failure What;
  nb::object Exception; ///< None: Python raised nothing
};

/// Of a pass in Python.
struct PyPassFailure {
  PassFailure What;
  nb::object Exception; ///< None: Python raised nothing
};

/// None if there is no failure; \p Exception may be no object.
nb::object failureOf(const Failure &F, const nb::object &Exception);
nb::object failureOf(const std::optional<PassFailure> &F,
                     const nb::object &Exception);

} // namespace passpilot

#endif
