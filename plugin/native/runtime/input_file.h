// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Opens the files that users name. Only regular files: a FIFO would block until
// somebody writes to it. plugin/files.py has the same rule.

#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace passpilot {

/// The most bytes of a model, in ONNX's format, too, and of a text.
inline constexpr int64_t MostBytes = 0x7fffffff, MostText = 64 << 20;

/// Opens the regular file at \p Path for reading. Returns -1, with \p Why set,
/// if it has more than \p Most bytes or cannot be read. The caller closes the
/// descriptor.
int openInput(const std::string &Path, std::string &Why, int64_t Most);

/// The contents that the regular file at \p Path has when it is opened.
/// Returns nothing, with \p Why set, if it has more than \p Most bytes or
/// cannot be read.
std::optional<std::string> readInput(const std::string &Path, std::string &Why,
                                     int64_t Most = MostText);

} // namespace passpilot
