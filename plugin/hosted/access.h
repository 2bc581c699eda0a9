// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What may be done to a module's IR at this moment, and whose analyses tell
// about it: those of the pass that runs, or the module's own.

#ifndef PASSPILOT_HOSTED_ACCESS_H
#define PASSPILOT_HOSTED_ACCESS_H

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/LoopAnalysisManager.h"
#include "llvm/IR/PassManager.h"

namespace passpilot {

class HostedModule;
class UserPasses;
struct PassUnit;

/// The managers of a module that no pass runs on; see analyses.h.
class OwnAnalyses;
struct OwnAnalysesDeleter {
  void operator()(OwnAnalyses *A) const;
};

/// What the pass that runs now may change, and its analyses. Lives on the stack
/// of the compiling thread around the call into Python; the passes nest.
class PassAccess {
public:
  /// Of a module pass: it may change everything.
  PassAccess(HostedModule &H, llvm::ModuleAnalysisManager &MAM);
  /// Of a call-graph pass or a function pass: it may change \p Functions, not
  /// which functions there are.
  PassAccess(HostedModule &H, llvm::FunctionAnalysisManager &FAM,
             llvm::ArrayRef<llvm::Function *> Functions);
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

  /// Whether, and which functions, the pass has changed since it last ran a
  /// pipeline; what is deleted leaves the set.
  bool Changed = false;
  /// Whether anything has changed before that.
  bool Settled = false;
  llvm::SmallPtrSet<llvm::Function *, 4> ChangedFunctions;

  UserPasses *Passes = nullptr;                 ///< of the compilation
  const PassUnit *Unit = nullptr;               ///< what the pass runs on
  llvm::FunctionAnalysisManager *FAM = nullptr; ///< none in a loop pass
  llvm::LoopStandardAnalysisResults *LoopResults = nullptr;

private:
  HostedModule &H;
  PassAccess *Outer;
  bool WholeModule = false;
  llvm::SmallPtrSet<const llvm::Function *, 4> Functions;
};

} // namespace passpilot

#endif
