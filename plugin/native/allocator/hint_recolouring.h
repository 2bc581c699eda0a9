// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef PASSPILOT_ALLOCATOR_HINT_RECOLOURING_H
#define PASSPILOT_ALLOCATOR_HINT_RECOLOURING_H

#include "../llvm/function_allocation.h"

namespace passpilot {

/// Moves live ranges to registers in which their copies do nothing, where such
/// registers are free at the end of a function's allocation.
void recolourForHints(FunctionAllocation &F);

} // namespace passpilot

#endif
