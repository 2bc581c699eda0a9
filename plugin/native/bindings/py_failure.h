// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The failure of an advisor or a pass, with the exception that Python
// raised.

#ifndef PASSPILOT_BINDINGS_PY_FAILURE_H
#define PASSPILOT_BINDINGS_PY_FAILURE_H

#include "../llvm/user_pass.h"
#include "../runtime/session.h"
#include "nanobind_all.h"

#include <optional>

namespace passpilot {

/// The failure of an advisor.
struct PyFailure {
  Failure What;
  nb::object Exception; ///< None if Python raised nothing
};

/// The failure of a pass in Python.
struct PyPassFailure {
  PassFailure What;
  nb::object Exception; ///< None if Python raised nothing
};

/// None without a failure. \p Exception may be an invalid object.
nb::object failureOf(const Failure &F, const nb::object &Exception);
nb::object failureOf(const std::optional<PassFailure> &F,
                     const nb::object &Exception);

} // namespace passpilot

#endif
