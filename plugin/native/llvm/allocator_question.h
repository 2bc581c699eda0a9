// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A question of the advised allocator: a choice among columns with names.

#ifndef PASSPILOT_LLVM_ALLOCATOR_QUESTION_H
#define PASSPILOT_LLVM_ALLOCATOR_QUESTION_H

#include "live_range_question.h"
#include "llvm/ADT/ArrayRef.h"

#include <string>
#include <vector>

namespace passpilot {

class AllocatorQuestion final : public LiveRangeQuestion {
public:
  /// \p Names gives the columns' names; it is called only if somebody reads
  /// them.
  using NameMaker = llvm::function_ref<std::vector<std::string>()>;
  AllocatorQuestion(FunctionAllocation &F, const llvm::LiveInterval &LI,
                    size_t Default, llvm::ArrayRef<int64_t> Mask,
                    NameMaker Names)
      : LiveRangeQuestion(F, LI), Mask(Mask), Default(Default), Make(Names) {}

  const llvm::ArrayRef<int64_t> Mask;
  /// The ranges of the columns, if the choice is among ranges.
  llvm::SmallVector<const llvm::LiveInterval *, 0> Ranges;

  Advice defaultAdvice() override {
    return Advice{static_cast<int64_t>(Default)};
  }
  DecisionPlace place() override;
  std::string forbidden(Advice A) override;
  bool nested() const override { return false; }
  /// "rax", "%12", "loop:3", "spill".
  const std::vector<std::string> &names();

private:
  const size_t Default;
  const NameMaker Make;
  std::vector<std::string> Names;
  std::string Joined;
};

} // namespace passpilot

#endif
