// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Errors that Python gets as those of the same name.

#ifndef PASSPILOT_HOSTED_ERRORS_H
#define PASSPILOT_HOSTED_ERRORS_H

#include <stdexcept>

namespace passpilot {

/// The input (module, pipeline text, option) cannot be used.
struct InputError : std::runtime_error {
  using runtime_error::runtime_error;
};
/// The IR cannot be changed in the way that is asked for.
struct IRError : std::runtime_error {
  using runtime_error::runtime_error;
};
/// LLVM reported an error while it compiled.
struct CompilationError : std::runtime_error {
  using runtime_error::runtime_error;
};

} // namespace passpilot

#endif
