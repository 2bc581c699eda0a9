// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A copy of a function on which LLVM's loop passes can be tried out. Its loops
// have the form that LLVM's pipelines give them before they are vectorized.

#ifndef PASSPILOT_HOSTED_LOOP_COPY_H
#define PASSPILOT_HOSTED_LOOP_COPY_H

#include "errors.h"
#include "function_copy.h"
#include "setup.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"
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

/// By the headers of loops of the original function.
template <typename T>
using ByHeader = llvm::DenseMap<const llvm::BasicBlock *, T>;

/// What \p Examine finds about the loops of a copy of \p F; it returns the
/// places of headers, each with what is known of the loop. Nothing if \p F has
/// no loops or cannot be copied.
template <typename T>
ByHeader<T> onCopy(
    llvm::Function &F, llvm::FunctionAnalysisManager &FAM,
    llvm::TargetMachine *TM,
    llvm::function_ref<std::vector<std::pair<size_t, T>>(LoopCopy &)> Examine) {
  ByHeader<T> Known;
  if (FAM.getResult<llvm::LoopAnalysis>(F).empty())
    return Known;
  const OptionsInUse Used;
  std::vector<std::pair<size_t, T>> Found;
  try {
    LoopCopy Copy(F, TM);
    Found = Examine(Copy);
  } catch (IRError &) {
    return Known;
  }
  std::vector<const llvm::BasicBlock *> Blocks;
  for (const llvm::BasicBlock &B : F)
    Blocks.push_back(&B);
  for (auto &[Place, Loop] : Found)
    Known[Blocks[Place]] = std::move(Loop);
  return Known;
}

} // namespace passpilot

#endif
