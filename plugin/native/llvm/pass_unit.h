// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The unit of IR that a pass runs on.

#pragma once

#include "llvm/Analysis/CGSCCPassManager.h"
#include "llvm/Analysis/LoopAnalysisManager.h"

#include <string>

namespace passpilot {

enum class PassLevel { Module, CGSCC, Function, Loop };

/// "module", "cgscc", "function", "loop".
const char *levelName(PassLevel Level);

/// LLVM's analysis managers of one compilation.
struct AnalysisManagers {
  llvm::LoopAnalysisManager *Loop = nullptr;
  llvm::FunctionAnalysisManager *Function = nullptr;
  llvm::CGSCCAnalysisManager *CGSCC = nullptr;
  llvm::ModuleAnalysisManager *Module = nullptr;
};

/// A pass's unit: the object at its level, and what contains it.
struct PassUnit {
  PassLevel Level = PassLevel::Module;
  llvm::Module *Module = nullptr;
  llvm::LazyCallGraph::SCC *SCC = nullptr; ///< set for a CGSCC pass
  llvm::Function *Function = nullptr;      ///< set for a function or loop pass
  llvm::Loop *Loop = nullptr;              ///< set for a loop pass
  llvm::CGSCCUpdateResult *CGSCCUpdate = nullptr;
  llvm::LoopStandardAnalysisResults *LoopResults = nullptr;
  AnalysisManagers Managers;
  /// The call graph that LLVM is walking; null outside such a walk.
  llvm::LazyCallGraph *Walked = nullptr;

  /// "function f", "loop body in function f".
  std::string text() const;
};

} // namespace passpilot
