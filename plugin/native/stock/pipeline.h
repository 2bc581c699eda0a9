// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A pipeline of LLVM's in somebody else's compiler: its inline advisor and its
// passes in Python, from the first pass to the end of its analysis managers.

#ifndef PASSPILOT_STOCK_PIPELINE_H
#define PASSPILOT_STOCK_PIPELINE_H

#include "llvm/Passes/PassBuilder.h"

namespace passpilot {

/// Lets \p PB's pipelines be advised as the options say.
llvm::Error registerPipeline(llvm::PassBuilder &PB);

} // namespace passpilot

#endif
