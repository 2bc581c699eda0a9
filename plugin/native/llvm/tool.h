// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether the process is Python's, or a compiler's that has loaded us.

#pragma once

namespace passpilot {

/// Call this when a compiler has loaded us.
void enterForeignTool();
/// Whether a compiler has loaded us; it then sets up LLVM's registries.
bool inForeignTool();

} // namespace passpilot
