// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The stages of a compiler that a tool runs: optimization, code generation.
// Options for a stage that the process never reaches are reported.

#pragma once

#include "../llvm/points.h"
#include "llvm/Passes/PassBuilder.h"

#include <vector>

namespace passpilot {

/// Advises the pipelines of \p PB as the options say: with an inline advisor
/// and passes in Python.
llvm::Error registerPipeline(llvm::PassBuilder &PB);

/// Advises the process's code generators as the options say.
void registerCodeGeneration();

/// LLVM's decision points that our function \p Function reaches: "optimize" or
/// "emit".
std::vector<const HookedPoint *> pointsOf(llvm::StringRef Function);

/// Notes that the process optimizes modules.
void noteOptimization();
bool optimizes();
/// Notes that the process generates code.
void noteCodeGeneration();

/// Warns of the advisors of code generation if the process has generated no
/// code.
void warnOfMissingCode();
/// Calls warnOfMissingCode() at the end of the process. Call this when a module
/// has been optimized well.
void expectCodeGeneration();

} // namespace passpilot
