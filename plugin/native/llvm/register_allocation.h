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
class Pass;
class TargetRegisterInfo;
class VirtRegMap;
namespace legacy {
class PassManagerBase;
}
} // namespace llvm

namespace passpilot {

class InterferenceGraph;
class InterferenceTracker;
class LiveRangeQuestion;

using Ranges = llvm::SmallVector<const llvm::LiveInterval *, 8>;

/// What LLVM's queue orders live ranges by: priority, complement of register.
using QueueEntry = std::pair<unsigned, unsigned>;

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
  const size_t Observers; ///< of MRI, while no edit is going on

  /// The live ranges in the way of \p LI in each unit of \p Reg.
  llvm::SmallVector<Ranges, 4> inTheWay(const llvm::LiveInterval &LI,
                                        llvm::MCRegister Reg) const;

  /// The graph as it is at the question; see interference.h.
  const InterferenceGraph &interference(const LiveRangeQuestion &Q);
  // What the graph is told: a range is about to be queued, and was; ranges are
  // about to be evicted for another.
  void queueing(const llvm::LiveInterval &LI);
  void queued(const llvm::LiveInterval &LI, unsigned Priority);
  void evicting(const llvm::LiveInterval &LI, llvm::MCRegister Reg);
  /// Whether LLVM, about to queue \p LI, is in the middle of splitting,
  /// spilling or recolouring.
  bool nested(const llvm::LiveInterval &LI) const;

  std::vector<QueueEntry> Queue = {}; ///< until somebody asks for the graph
  std::shared_ptr<InterferenceTracker> Interference = {}; ///< once asked for
  std::shared_ptr<void> Kept = {}; ///< the graph as Python has it
};

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

class RegisterAllocation;

/// Whose code generation it is: finds the module's advisors when it begins, and
/// learns of its end.
struct AllocationHost {
  std::function<RegisterAllocation &(llvm::Module &)> Begin;
  std::function<void()> End = [] {};
};

/// Advises the register allocation of one module's code generation.
class RegisterAllocation {
public:
  /// Either session may be null: LLVM's default then decides that point.
  /// Throws WrongLLVM.
  RegisterAllocation(llvm::LLVMContext &C, Session *Evict, Session *Priority);
  ~RegisterAllocation();

  /// To be called before the code generator adds its passes.
  void install(llvm::legacy::PassManagerBase &PM);
  /// What LLVM's code generator asks for its advisors, instead of LLVM's own.
  static llvm::Pass *createEvictionAnalysis(AllocationHost Host);
  static llvm::Pass *createPriorityAnalysis(AllocationHost Host);
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

  void receiveTensors();
};

} // namespace passpilot

#endif
