// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pass that -regalloc=advised names. Loading this library makes it known to
// LLVM; LLVM's greedy allocator runs behind it, for functions that it leaves.

#pragma once

namespace passpilot {

/// Makes the code generators that start from now on use the allocator of the
/// option -regalloc. LLVM itself reads the option once per process.
void useChosenAllocator();

} // namespace passpilot
