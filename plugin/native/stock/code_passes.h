// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes in Python that run when a tool begins to generate code for a module:
// those whose points are advised.

#ifndef PASSPILOT_STOCK_CODE_PASSES_H
#define PASSPILOT_STOCK_CODE_PASSES_H

#include "llvm/IR/Module.h"

namespace passpilot {

/// Call this while the tool adds its passes: sets the options of LLVM that the
/// passes need.
void prepareCodePasses();

/// Runs the passes on \p M; errors are reported to its context.
void runCodePasses(llvm::Module &M);

} // namespace passpilot

#endif
