// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tool.h"

#include "../runtime/text.h"

#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/LLVMContext.h>

namespace passpilot {

static bool Foreign = false, PrintsWarnings = false;

void enterForeignTool(bool IsLLVMs) {
  Foreign = true;
  PrintsWarnings = IsLLVMs;
}

bool inForeignTool() { return Foreign; }

void warn(llvm::LLVMContext &C, const std::string &Text) {
  if (PrintsWarnings)
    printWarning(Text);
  else
    C.diagnose(llvm::DiagnosticInfoGeneric(shown(Text), llvm::DS_Warning));
}

} // namespace passpilot
