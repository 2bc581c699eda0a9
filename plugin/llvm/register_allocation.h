// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The advisors of LLVM's greedy register allocator during one compilation.
// LLVM's own ML advisors compute the features into a session's buffers and map
// columns to registers; the session answers; LLVM's default advisors give the
// default decision, and decide whatever LLVM would not ask a model.

#ifndef PASSPILOT_LLVM_REGISTER_ALLOCATION_H
#define PASSPILOT_LLVM_REGISTER_ALLOCATION_H

#include "../runtime/session.h"
#include "allocation_cost.h"
#include "release_advisors.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/CodeGen/Register.h"
#include "llvm/MC/MCRegister.h"

namespace llvm {
class LiveInterval;
class LiveIntervals;
class LiveRegMatrix;
class MachineRegisterInfo;
class TargetRegisterInfo;
class VirtRegMap;
namespace legacy {
class PassManagerBase;
}
} // namespace llvm

namespace passpilot {

/// The function whose registers are being allocated, and LLVM's analyses of it.
/// Lives as long as the allocator works on the function.
struct FunctionAllocation {
  const llvm::MachineFunction &MF;
  llvm::LiveIntervals &LIS;
  llvm::VirtRegMap &VRM;
  llvm::LiveRegMatrix &Matrix;
  llvm::MachineRegisterInfo &MRI;
  const llvm::TargetRegisterInfo &TRI;
  const llvm::RegisterClassInfo &Classes;
  llvm::MachineBlockFrequencyInfo *Frequencies;
  llvm::MachineLoopInfo *Loops;
};

/// A question about one live range.
class LiveRangeQuestion : public Question {
public:
  LiveRangeQuestion(FunctionAllocation &F, const llvm::LiveInterval &LI)
      : Function(F), Range(LI) {}
  FunctionAllocation &Function;
  const llvm::LiveInterval &Range;
  /// Names the virtual register, "%12".
  DecisionPlace place() override;

private:
  std::string Name;
};

/// Which live range to evict for Range.
class EvictQuestion final : public LiveRangeQuestion {
public:
  EvictQuestion(FunctionAllocation &F, const llvm::LiveInterval &LI,
                const int64_t *Mask, bool MustEvict)
      : LiveRangeQuestion(F, LI), Mask(Mask), MustEvict(MustEvict) {}
  /// The registers of the columns: hints, then the order of the class.
  llvm::SmallVector<llvm::MCRegister, EvictColumns> Registers;
  size_t HintCount = 0;
  const int64_t *const Mask;
  const bool MustEvict; ///< the range cannot be spilled
  std::function<llvm::MCRegister()> Default;

  Advice defaultAdvice() override;
  std::string forbidden(Advice A) override;
  /// The column of \p Register; DoNotEvict for none.
  int64_t column(llvm::MCRegister Register) const;
  using Ranges = llvm::SmallVector<const llvm::LiveInterval *, 8>;
  /// The live ranges in the way, each once.
  Ranges interferences(size_t Column) const;
  /// The same for each unit of the column's register.
  llvm::SmallVector<Ranges, 4> unitInterferences(size_t Column) const;
};

class PriorityQuestion final : public LiveRangeQuestion {
public:
  using LiveRangeQuestion::LiveRangeQuestion;
  std::function<unsigned()> Default;
  Advice defaultAdvice() override {
    Advice A;
    A.Number = Default();
    return A;
  }
};

/// Advises the register allocation of one module's code generation.
class RegisterAllocation {
public:
  /// Either session may be null: LLVM's default then decides that point.
  /// Throws std::runtime_error if this LLVM is not the one we know.
  RegisterAllocation(llvm::LLVMContext &C, Session *Evict, Session *Priority);
  ~RegisterAllocation();

  /// To be called before the code generator adds its passes.
  void install(llvm::legacy::PassManagerBase &PM);
  /// Whether a session wants the compilation to end.
  bool stopped() const;

  Session *const Evict, *const Priority;
  ReleaseEviction Eviction;
  ReleasePriority Priorities;
  TensorReceiver *Receiver = nullptr; ///< of LLVM's eviction tensors
  /// If set, gets the cost of each function that has been allocated. Where the
  /// allocator runs more than once over a function (AMDGPU), the last counts.
  std::vector<AllocationCost> *Costs = nullptr;
  /// The function in allocation now, if there is one.
  std::unique_ptr<FunctionAllocation> Current;

private:
  llvm::LLVMContext &Context;
};

} // namespace passpilot

#endif
