// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Converts an operation to text for another MLIR, and back. The generic form
// with locations loses only what text cannot express (which distinct attributes
// are identical).

#pragma once

#include "mlir/IR/Operation.h"

#include <optional>
#include <string>

namespace passpilot {

/// The text of \p Op. If it is nested, the text is a module with it and the
/// symbols it refers to, functions without bodies. Returns nothing, with \p Why
/// set, if the operation cannot be converted.
std::optional<std::string> textOf(mlir::Operation *Op, std::string &Why);

/// Replaces the contents of \p Op by those of the operation in \p Text. Returns
/// false, with \p Why set, if that is another operation.
bool replaceBy(mlir::Operation *Op, const std::string &Text, std::string &Why);

} // namespace passpilot
