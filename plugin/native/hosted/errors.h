// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Errors that become Python's errors of the same name.

#pragma once

#include <stdexcept>

namespace passpilot {

/// The input (module, pipeline text, option) is unusable.
struct InputError : std::runtime_error {
  using runtime_error::runtime_error;
};
/// The requested change of the IR is impossible.
struct IRError : std::runtime_error {
  using runtime_error::runtime_error;
};
/// LLVM reported an error while compiling.
struct CompilationError : std::runtime_error {
  using runtime_error::runtime_error;
};

} // namespace passpilot
