// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Raises passpilot's Python errors, and converts text for them.

#pragma once

#include "nanobind_all.h"

#include <string>
#include <string_view>

namespace passpilot {

/// Python text from bytes that need not be UTF-8.
nb::str text(std::string_view S);

/// Sets Python's error indicator to class \p Name of passpilot.plugin.errors.
void setError(const char *Name, const std::string &Text);

/// Raises class \p Name of passpilot.plugin.errors.
[[noreturn]] void raiseError(const char *Name, const std::string &Text);

/// The type and shortened repr of a wrong answer. Never raises.
std::string described(nb::handle Value);

} // namespace passpilot
