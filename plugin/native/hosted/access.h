// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Limits what the running pass may change in a module's IR, and notes what it
// has changed.

#pragma once

#include "module.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/LoopAnalysisManager.h"
#include "llvm/IR/Analysis.h"

namespace passpilot {

class UserPasses;
struct PassUnit;

/// The permissions and changes of one run of a pass. Lives on the compiling
/// thread's stack around the call into Python; passes nest.
class PassAccess {
public:
  /// For a module pass, which may change everything.
  explicit PassAccess(HostedModule &H);
  /// For a call-graph or function pass, which may change \p Functions but
  /// neither add nor remove functions.
  PassAccess(HostedModule &H, llvm::ArrayRef<llvm::Function *> Functions);
  /// For a loop pass, which may change instructions of \p F but not its blocks.
  PassAccess(HostedModule &H, llvm::LoopStandardAnalysisResults &Results,
             llvm::Function &F);
  ~PassAccess();
  PassAccess(const PassAccess &) = delete;

  bool mayChangeModule() const { return WholeModule; }
  bool mayChange(const llvm::Function &F) const {
    return WholeModule || Functions.contains(&F);
  }
  bool mayChangeBlocks() const { return !LoopResults; }

  void noteChange(Change C);
  /// Whether the pass has changed the IR since it last ran a pipeline.
  bool Changed = false;
  /// LLVM's analyses that are still valid after the pass's changes.
  llvm::PreservedAnalyses Preserved = llvm::PreservedAnalyses::all();

  UserPasses *Passes = nullptr;   ///< the compilation's passes
  const PassUnit *Unit = nullptr; ///< the unit of the pass
  /// The results of a loop pass; null for other passes.
  llvm::LoopStandardAnalysisResults *LoopResults = nullptr;

private:
  HostedModule &H;
  PassAccess *Outer;
  bool WholeModule = false;
  llvm::SmallPtrSet<const llvm::Function *, 4> Functions;
};

} // namespace passpilot
