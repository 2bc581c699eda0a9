// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Smaller unwind tables (.eh_frame): rows only where a program can stop. A
// machine pass behind all that move code; it changes no instruction. LLVM's
// option -unwind turns it on, and a function's attribute "unwind" wins over the
// option.

#pragma once

namespace llvm {
class Function;
} // namespace llvm

namespace passpilot {

/// Whether the table has an entry for \p F, with a row for every change.
bool writesAllRows(const llvm::Function &F);

/// The option and the attribute; ../runtime/permitted.h knows the values.
inline constexpr const char *UnwindName = "unwind";

/// Makes the pass a part of every code generation. Call this behind what sets
/// the option when passes are added. \p InLinker: all code is optimized at link
/// time.
void registerUnwindTables(bool InLinker);

} // namespace passpilot
