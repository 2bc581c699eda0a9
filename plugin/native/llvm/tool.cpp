// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tool.h"

#include "../runtime/text.h"

#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/LLVMContext.h>

namespace passpilot {

static bool Foreign = false;

void enterForeignTool() { Foreign = true; }

bool inForeignTool() { return Foreign; }

void warn(llvm::LLVMContext &C, const std::string &Text) {
  if (Foreign)
    printWarning(Text);
  else
    C.diagnose(llvm::DiagnosticInfoGeneric(Text, llvm::DS_Warning));
}

} // namespace passpilot
