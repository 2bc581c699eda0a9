// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tool.h"

namespace passpilot {

static bool Foreign = false;

void enterForeignTool() { Foreign = true; }

bool inForeignTool() { return Foreign; }

} // namespace passpilot
