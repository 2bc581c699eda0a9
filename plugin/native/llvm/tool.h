// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether the process is Python's, or a compiler's that has loaded us, and who
// shows warnings.

#pragma once

#include <string>

namespace llvm {
class LLVMContext;
} // namespace llvm

namespace passpilot {

/// Call this when a compiler has loaded us. LLVM's own tools have no use for
/// our warnings but to print them; others may have a handler for diagnostics.
void enterForeignTool(bool IsLLVMs);
/// Whether a compiler has loaded us; it then sets up LLVM's registries.
bool inForeignTool();
/// Warns: in LLVM's own tools by passpilot's own line, which -w does not hide
/// and -Werror does not make an error; elsewhere by the context's handler.
void warn(llvm::LLVMContext &C, const std::string &Text);

} // namespace passpilot
