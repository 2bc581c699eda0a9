// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// At -Oz, x86-64 loads a small constant by push and pop, which is two bytes
// shorter than mov, and needs two rows of six bytes where the unwind table is
// exact everywhere. LLVM's option -move-small-constants takes mov there.

#pragma once

namespace passpilot {

/// Makes the pass a part of every code generation.
void registerSmallConstants();

} // namespace passpilot
