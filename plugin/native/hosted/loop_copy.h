// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A copy of a function on which LLVM's loop passes can be tried out. Its loops
// have the form that LLVM's pipelines give them before they are vectorized.

#pragma once

#include "errors.h"
#include "function_copy.h"
#include "setup.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Analysis/CGSCCPassManager.h"
#include "llvm/Analysis/LoopAnalysisManager.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/PassManager.h"
#include "llvm/Passes/PassBuilder.h"

#include <functional>
#include <utility>
#include <vector>

namespace llvm {
class TargetMachine;
}

namespace passpilot {

class LoopCopy {
public:
  /// \p TM: the target; may be null. Throws IRError as FunctionCopy does.
  LoopCopy(llvm::Function &F, llvm::TargetMachine *TM);

  llvm::Function &function() { return Copy.function(); }
  llvm::FunctionAnalysisManager &analyses() { return FAM; }
  llvm::LoopInfo &loops() {
    return FAM.getResult<llvm::LoopAnalysis>(function());
  }
  /// The innermost loops, with the places that the headers have among the
  /// blocks of the original.
  const std::vector<std::pair<size_t, llvm::Loop *>> &innermost() const {
    return Innermost;
  }
  /// Called for the remarks of passes that have changed a loop.
  std::function<void(const llvm::OptimizationRemark &)> OnRemark;

private:
  FunctionCopy Copy; // before the managers: outlives them
  llvm::LoopAnalysisManager LAM;
  llvm::FunctionAnalysisManager FAM;
  llvm::CGSCCAnalysisManager CGAM;
  llvm::ModuleAnalysisManager MAM;
  llvm::PassBuilder PB;
  std::vector<std::pair<size_t, llvm::Loop *>> Innermost;

  void prepareLoops();
};

/// What LLVM's passes make of the innermost loops of a copy, by the headers of
/// the original's loops. Loops of which nothing is known, or of a function that
/// cannot be copied, are not in the result.
///
/// KnownT::examine() takes a LoopCopy; it returns the places of headers, each
/// with what is known of the loop.
template <typename KnownT>
class LoopCopyAnalysis
    : public llvm::AnalysisInfoMixin<LoopCopyAnalysis<KnownT>> {
public:
  using Result = llvm::DenseMap<const llvm::BasicBlock *, KnownT>;
  /// \p TM: the target; may be null.
  explicit LoopCopyAnalysis(llvm::TargetMachine *TM) : TM(TM) {}

  Result run(llvm::Function &F, llvm::FunctionAnalysisManager &FAM) {
    Result Known;
    if (FAM.getResult<llvm::LoopAnalysis>(F).empty())
      return Known;
    std::vector<const llvm::BasicBlock *> Blocks;
    for (const llvm::BasicBlock &B : F)
      Blocks.push_back(&B);
    const OptionsInUse Used;
    try {
      LoopCopy Copy(F, TM);
      for (auto &[Place, Loop] : KnownT::examine(Copy))
        Known[Blocks[Place]] = std::move(Loop);
    } catch (IRError &) {
      Known.clear();
    }
    return Known;
  }

private:
  llvm::TargetMachine *TM;
  friend llvm::AnalysisInfoMixin<LoopCopyAnalysis>;
  static inline llvm::AnalysisKey Key;
};

} // namespace passpilot
