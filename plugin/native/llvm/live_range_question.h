// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the register allocator asks an advisor.

#ifndef PASSPILOT_LLVM_LIVE_RANGE_QUESTION_H
#define PASSPILOT_LLVM_LIVE_RANGE_QUESTION_H

#include "../runtime/session.h"
#include "function_allocation.h"
#include "release_advisors.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace passpilot {

/// A question about one live range.
class LiveRangeQuestion : public Question {
public:
  LiveRangeQuestion(FunctionAllocation &F, const llvm::LiveInterval &LI)
      : Function(F), Range(LI) {}
  FunctionAllocation &Function;
  const llvm::LiveInterval &Range;
  /// Whether LLVM asks from within an edit or a recolouring, when live ranges
  /// change that it has announced before.
  virtual bool nested() const = 0;
  /// Names the virtual register, "%12".
  DecisionPlace place() override;

private:
  std::string Name;
};

/// Which live range to evict for Range.
class EvictQuestion final : public LiveRangeQuestion {
public:
  EvictQuestion(FunctionAllocation &F, const llvm::LiveInterval &LI,
                const int64_t *Mask, bool MustEvict, bool Nested)
      : LiveRangeQuestion(F, LI), Mask(Mask), MustEvict(MustEvict),
        Nested(Nested) {}
  /// The registers of the columns: hints, then the order of the class.
  llvm::SmallVector<llvm::MCRegister, EvictColumns> Registers;
  size_t HintCount = 0;
  const int64_t *const Mask;
  const bool MustEvict; ///< the range cannot be spilled
  const bool Nested;    ///< in a recolouring
  llvm::function_ref<llvm::MCRegister()> Default;

  Advice defaultAdvice() override;
  std::string forbidden(Advice A) override;
  bool nested() const override { return Nested; }
  /// The column of \p Register; DoNotEvict for none.
  int64_t column(llvm::MCRegister Register) const;
  /// The live ranges in the way, each once.
  Ranges interferences(size_t Column) const;
  /// The same for each unit of the column's register.
  llvm::SmallVector<Ranges, 4> unitInterferences(size_t Column) const;
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

} // namespace passpilot

#endif
