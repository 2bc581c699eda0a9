// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The passes that this plugin registers.

#pragma once

#include "../loaded/message.h"

#include "mlir/IR/Diagnostics.h"

namespace passpilot {

void registerAdvisedInline();

/// Registers the Python passes that the files, separated by colons, define.
/// Returns false after an error, added to \p Report.
bool registerUserPasses(const std::string &Files, Messages &Report);

/// Registers the Python passes of passpilot and of installed packages that a
/// pipeline names. Starts Python only if MLIR does not know a name.
bool registerNamedPasses(llvm::StringRef Pipeline, Messages &Report);

/// Calls \p Body of a pass on \p Op. Returns false if it throws, with an error
/// emitted.
bool runContained(mlir::Operation *Op, llvm::function_ref<void()> Body);

/// Emits the messages at \p Location. Returns false if one of them is an
/// error.
bool emitMessages(const Messages &Report, mlir::Location Location);

} // namespace passpilot
