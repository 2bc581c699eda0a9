// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whose process this is: Python's, or that of a compiler that has loaded us.

#ifndef PASSPILOT_LLVM_TOOL_H
#define PASSPILOT_LLVM_TOOL_H

namespace passpilot {

/// Called when a compiler has loaded us.
void enterForeignTool();
/// Whether one has: LLVM's registries and handlers are then set up by it.
bool inForeignTool();

} // namespace passpilot

#endif
