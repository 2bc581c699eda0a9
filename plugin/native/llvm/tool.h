// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether the process is Python's, or a compiler's that has loaded us.

#pragma once

#include <string>

namespace llvm {
class LLVMContext;
} // namespace llvm

namespace passpilot {

/// Call this when a compiler has loaded us.
void enterForeignTool();
/// Whether a compiler has loaded us; it then sets up LLVM's registries.
bool inForeignTool();
/// Warns: in a compiler's process by passpilot's own line, which -w does not
/// hide and -Werror does not make an error.
void warn(llvm::LLVMContext &C, const std::string &Text);

} // namespace passpilot
