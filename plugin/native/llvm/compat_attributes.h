// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attributes of functions that LLVM's versions spell differently.

#pragma once

#include "version.h"
#include "llvm/IR/Function.h"

namespace passpilot {

/// Keeps the machine outliner from \p F. Since LLVM 23 it no longer looks at
/// the string attribute.
inline void forbidOutlining(llvm::Function &F) {
#if PASSPILOT_LLVM_MAJOR >= 23
  F.addFnAttr(llvm::Attribute::NoOutline);
#else
  F.addFnAttr("nooutline");
#endif
}

} // namespace passpilot
