// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Opens the files that users name. Only regular files: a FIFO would block until
// somebody writes to it. plugin/files.py has the same rule.

#ifndef PASSPILOT_RUNTIME_INPUT_FILE_H
#define PASSPILOT_RUNTIME_INPUT_FILE_H

#include <optional>
#include <string>

namespace passpilot {

/// Opens the regular file at \p Path for reading. Returns -1, with \p Why set,
/// if there is none that can be read. The caller closes the descriptor.
int openInput(const std::string &Path, std::string &Why);

/// The contents of the regular file at \p Path, of less than 2 GiB. Returns
/// nothing, with \p Why
/// set, if it cannot be read.
std::optional<std::string> readInput(const std::string &Path, std::string &Why);

} // namespace passpilot

#endif
