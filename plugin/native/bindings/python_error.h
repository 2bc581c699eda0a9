// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Errors of passpilot as Python raises them, and the text in them.

#ifndef PASSPILOT_BINDINGS_PYTHON_ERROR_H
#define PASSPILOT_BINDINGS_PYTHON_ERROR_H

#include "nanobind_all.h"

#include <string>

namespace passpilot {

/// Python text of bytes that need not be UTF-8.
nb::str text(const std::string &S);

/// Sets Python's error to \p Name of passpilot.plugin.errors.
void setError(const char *Name, const std::string &Text);

/// Raises \p Name of passpilot.plugin.errors.
[[noreturn]] void raiseError(const char *Name, const std::string &Text);

/// Type and repr of a wrong answer, shortened. Never raises.
std::string described(nb::handle Value);

} // namespace passpilot

#endif
