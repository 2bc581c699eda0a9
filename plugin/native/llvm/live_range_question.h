// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The questions that the register allocator asks an advisor.

#pragma once

#include "../runtime/session.h"
#include "function_allocation.h"
#include "release_advisors.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <string>
#include <vector>

namespace passpilot {

/// A question about one live range.
class LiveRangeQuestion : public Question {
public:
  LiveRangeQuestion(FunctionAllocation &F, const llvm::LiveInterval &LI)
      : Function(F), Range(LI) {}
  FunctionAllocation &Function;
  const llvm::LiveInterval &Range;
  /// Whether LLVM asks from within an edit or a recolouring, when live ranges
  /// that it has already announced may still change.
  virtual bool nested() const = 0;
  using RangeUse = llvm::function_ref<void(const llvm::LiveInterval &)>;
  using ColumnUse = llvm::function_ref<void(size_t)>;
  /// The ranges that the question is about.
  virtual void eachRange(RangeUse Use) const { Use(Range); }
  /// The columns that have to do with \p LI, one of these ranges or of those
  /// that interfere with them.
  virtual void eachColumn(const llvm::LiveInterval &LI, ColumnUse Use) const;
  /// Names the virtual register, "%12".
  DecisionPlace place() override;

private:
  std::string Name;
};

/// Calls \p Use with the indices of the registers that overlap the one of \p
/// LI.
void eachOverlapping(const FunctionAllocation &F, const llvm::LiveInterval &LI,
                     llvm::ArrayRef<llvm::MCRegister> Registers,
                     LiveRangeQuestion::ColumnUse Use);

/// Which live range to evict in favour of Range.
class EvictQuestion final : public LiveRangeQuestion {
public:
  EvictQuestion(FunctionAllocation &F, const llvm::LiveInterval &LI,
                const int64_t *Mask, bool MustEvict, bool Nested)
      : LiveRangeQuestion(F, LI), Mask(Mask), MustEvict(MustEvict),
        Nested(Nested) {}
  /// The registers of the columns: first hints, then the class's order.
  llvm::SmallVector<llvm::MCRegister, EvictColumns> Registers;
  size_t HintCount = 0;
  const int64_t *const Mask;
  const bool MustEvict; ///< the range cannot be spilled
  const bool Nested;    ///< asked during a recolouring
  llvm::function_ref<llvm::MCRegister()> Default;
  /// If set, is called with the column whose ranges the answer evicts.
  llvm::function_ref<void(int64_t)> Count;

  Advice defaultAdvice() override;
  void answered(Advice A) override;
  std::string forbidden(Advice A) override;
  bool nested() const override { return Nested; }
  /// The candidate's own column, or those whose register \p LI has.
  void eachColumn(const llvm::LiveInterval &LI, ColumnUse Use) const override;
  /// Names the registers of the columns, too.
  DecisionPlace place() override;
  /// The column of \p Register; DoNotEvict if it has none.
  int64_t column(llvm::MCRegister Register) const;
  /// The live ranges that interfere, without duplicates.
  Ranges interferences(size_t Column) const;
  /// As interferences(), for each unit of the column's register.
  llvm::SmallVector<Ranges, 4> unitInterferences(size_t Column) const;

private:
  std::string Names;
};

class PriorityQuestion final : public LiveRangeQuestion {
public:
  using LiveRangeQuestion::LiveRangeQuestion;
  llvm::function_ref<unsigned()> Default;
  bool nested() const override;
  Advice defaultAdvice() override {
    Advice A;
    A.Number = Default();
    return A;
  }
};

/// A question of the advised allocator: a choice among columns with names.
class AllocatorQuestion final : public LiveRangeQuestion {
public:
  /// Gives the columns' names; called only if they are read.
  using NameMaker = llvm::function_ref<std::vector<std::string>()>;
  AllocatorQuestion(FunctionAllocation &F, const llvm::LiveInterval &LI,
                    size_t Default, llvm::ArrayRef<int64_t> Mask,
                    NameMaker Names)
      : LiveRangeQuestion(F, LI), Mask(Mask), Default(Default), Make(Names) {}
  const llvm::ArrayRef<int64_t> Mask;
  /// The ranges of the columns, if the choice is among ranges.
  llvm::SmallVector<const llvm::LiveInterval *, 0> Ranges;
  /// As eachColumn(), if the choice is not among ranges; may be empty.
  llvm::function_ref<void(const llvm::LiveInterval &, ColumnUse)> Concerned;

  Advice defaultAdvice() override {
    return Advice{static_cast<int64_t>(Default)};
  }
  DecisionPlace place() override;
  std::string forbidden(Advice A) override;
  bool nested() const override { return false; }
  void eachRange(RangeUse Use) const override;
  void eachColumn(const llvm::LiveInterval &LI, ColumnUse Use) const override;
  /// "rax", "%12", "loop:3", "spill".
  const std::vector<std::string> &names();

private:
  const size_t Default;
  const NameMaker Make;
  std::vector<std::string> Names;
  std::string Joined;
};

} // namespace passpilot
