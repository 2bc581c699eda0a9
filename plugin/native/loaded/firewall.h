// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stops exceptions at the functions that a compiler calls. LLVM and MLIR are
// built without exceptions: nothing may be thrown through their frames.

#pragma once

#include "message.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace passpilot {

/// Calls \p Body. Returns false if it throws, with an error added to \p Report.
bool contained(Messages &Report, llvm::function_ref<void()> Body) noexcept;

} // namespace passpilot
