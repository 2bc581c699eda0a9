// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What may be done to a module's IR at this moment, and what the pass that runs
// has done to it.

#ifndef PASSPILOT_HOSTED_ACCESS_H
#define PASSPILOT_HOSTED_ACCESS_H

#include "module.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/LoopAnalysisManager.h"
#include "llvm/IR/Analysis.h"

namespace passpilot {

class UserPasses;
struct PassUnit;

/// What the pass that runs now may change, and has changed. Lives on the stack
/// of the compiling thread around the call into Python; the passes nest.
class PassAccess {
public:
  /// Of a module pass: it may change everything.
  explicit PassAccess(HostedModule &H);
  /// Of a call-graph pass or a function pass: it may change \p Functions, not
  /// which functions there are.
  PassAccess(HostedModule &H, llvm::ArrayRef<llvm::Function *> Functions);
  /// Of a loop pass: it may change instructions of \p F, not its blocks.
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
  /// LLVM's analyses that still hold after all that it has changed.
  llvm::PreservedAnalyses Preserved = llvm::PreservedAnalyses::all();

  UserPasses *Passes = nullptr;   ///< of the compilation
  const PassUnit *Unit = nullptr; ///< what the pass runs on
  /// LLVM's of a loop pass; else null.
  llvm::LoopStandardAnalysisResults *LoopResults = nullptr;

private:
  HostedModule &H;
  PassAccess *Outer;
  bool WholeModule = false;
  llvm::SmallPtrSet<const llvm::Function *, 4> Functions;
};

} // namespace passpilot

#endif
