// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The passes that this plugin registers.

#ifndef PASSPILOT_MLIR_MLIR_PASSES_H
#define PASSPILOT_MLIR_MLIR_PASSES_H

#include "../loaded/message.h"

#include "mlir/IR/Diagnostics.h"

namespace passpilot {

void registerAdvisedInline();

/// Registers the passes in Python that the files, separated by colons, define.
/// False after an error, which is told.
bool registerUserPasses(const std::string &Files, Messages &Told);

/// Emits what was told of something at \p Location. False if there was an error
/// in it.
bool emitMessages(const Messages &Told, mlir::Location Location);

} // namespace passpilot

#endif
