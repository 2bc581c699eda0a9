// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An operation as the text that another MLIR reads, and back: in the generic
// form, with locations, so that nothing is lost but what text cannot say (which
// distinct attributes are the same).

#ifndef PASSPILOT_MLIR_EXCHANGE_H
#define PASSPILOT_MLIR_EXCHANGE_H

#include "mlir/IR/Operation.h"

#include <optional>
#include <string>

namespace passpilot {

/// The text of \p Op; of one that is inside another, a module with it and with
/// what it refers to outside, functions without their bodies. Nothing, with
/// \p Why set, for what cannot be handed over.
std::optional<std::string> textOf(mlir::Operation *Op, std::string &Why);

/// Gives \p Op what the operation in \p Text has. False, with \p Why set, if it
/// is another one.
bool replaceBy(mlir::Operation *Op, const std::string &Text, std::string &Why);

} // namespace passpilot

#endif
