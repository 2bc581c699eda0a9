// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which stages of a compiler this process runs: optimization, code generation.
// Options for the stage that it never reaches are reported.

#ifndef PASSPILOT_STOCK_STAGES_H
#define PASSPILOT_STOCK_STAGES_H

#include "../llvm/points.h"
#include "llvm/IR/Module.h"

#include <vector>

namespace passpilot {

/// LLVM's decision points that our function \p Function reaches: "optimize" or
/// "emit".
std::vector<const HookedPoint *> pointsOf(llvm::StringRef Function);

/// Notes that the process optimizes modules.
void noteOptimization();
bool optimizes();
/// Notes that the process generates code.
void noteCodeGeneration();

/// Call this when a module has been optimized well: if the process ends without
/// code generation, it warns of the advisors of code generation.
void expectCodeGeneration();

} // namespace passpilot

#endif
