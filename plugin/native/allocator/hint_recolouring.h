// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What happens when all live ranges of a function have their places.

#pragma once

#include "allocator_advice.h"

namespace passpilot {

/// Moves live ranges to registers in which their copies do nothing, where such
/// registers are free at the end of a function's allocation.
void recolourForHints(FunctionAllocation &F);

} // namespace passpilot
