// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The failure of an advisor or a pass, with the exception that Python
// raised.

#pragma once

#include "../llvm/user_pass.h"
#include "../runtime/session.h"
#include "nanobind_all.h"

#include <optional>

namespace passpilot {

/// The failure of an advisor. The exception refers to frames that refer to the
/// failure.
struct PyFailure {
  Failure What;
  nb::object Exception; ///< None if Python raised nothing
  template <typename Function> void eachObject(Function F) { F(Exception); }
};

/// The failure of a pass in Python.
struct PyPassFailure {
  PassFailure What;
  nb::object Exception; ///< None if Python raised nothing
  template <typename Function> void eachObject(Function F) { F(Exception); }
};

/// Nothing without a failure. \p Exception may be an invalid object.
std::optional<PyFailure> failureOf(const Failure &F,
                                   const nb::object &Exception);
std::optional<PyPassFailure> failureOf(const std::optional<PassFailure> &F,
                                       const nb::object &Exception);

} // namespace passpilot
