// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Advises a pipeline in a foreign compiler: its inline advisor and passes in
// Python, from the first pass to the end of the analysis managers.

#ifndef PASSPILOT_STOCK_PIPELINE_H
#define PASSPILOT_STOCK_PIPELINE_H

#include "llvm/Passes/PassBuilder.h"

namespace passpilot {

/// Lets the pipelines of \p PB be advised as the options say.
llvm::Error registerPipeline(llvm::PassBuilder &PB);

} // namespace passpilot

#endif
