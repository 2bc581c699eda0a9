// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM's WebAssembly backend writes all control flow by block, loop and
// branches. With the option -write-wasm-ifs, a block that begins with a
// conditional branch to its end becomes an `if`. If this `if` ends with a jump
// over the code after it, that code becomes its `else`. Every change saves 1 to
// 7 bytes.

#pragma once

namespace passpilot {

/// Makes the pass a part of every code generation.
void registerWasmIfs();

} // namespace passpilot
