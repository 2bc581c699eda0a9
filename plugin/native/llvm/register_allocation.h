// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The advisors of LLVM's greedy register allocator during one compilation.
// LLVM's ML advisors write the features into a session's buffers and map
// columns to registers; the session answers; LLVM's default advisors give the
// default decision, and decide where LLVM would not ask a model.

#pragma once

#include "../runtime/session.h"
#include "allocation_cost.h"
#include "live_range_question.h"
#include "release_advisors.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <functional>
#include <memory>
#include <vector>

namespace llvm {
class Pass;
namespace legacy {
class PassManagerBase;
}
} // namespace llvm

namespace passpilot {

class RegisterAllocation;

/// The sessions of the points that a code generation reaches; a null session
/// leaves its point to the default.
struct AllocationSessions {
  Session *Evict = nullptr, *Priority = nullptr;
  // Of the advised allocator, whose default needs no session.
  Session *Order = nullptr, *Action = nullptr, *Colour = nullptr,
          *Split = nullptr;
  Session *Schedule = nullptr; // of the machine scheduler, which works before

  /// \p At gives the session of a point, or null.
  static AllocationSessions
  find(llvm::function_ref<Session *(const char *Point)> At);
  /// Whether one of them has stopped the compilation.
  bool stopped() const;
};

/// Finds the advisors of a module's code generation.
using FindAllocation = std::function<RegisterAllocation &(llvm::Module &)>;

/// Advises the register allocation of one module's code generation.
class RegisterAllocation {
public:
  /// Throws WrongLLVM.
  RegisterAllocation(llvm::LLVMContext &C, const AllocationSessions &Sessions);
  ~RegisterAllocation();

  /// Adds the analyses from which LLVM's allocator gets its advisors. Call this
  /// before the code generator adds its passes. \p Find is called for functions
  /// that the allocator works on.
  static void install(llvm::legacy::PassManagerBase &PM, FindAllocation Find);
  /// The advisors of the code generation that this thread is at; null for none.
  /// LLVM's scheduler has no analysis that could provide them.
  static RegisterAllocation *ofThread(llvm::Module &M);
  /// The advisors of \p M behind an analysis of install(); null for LLVM's own.
  static RegisterAllocation *
  of(llvm::RegAllocEvictionAdvisorAnalysisLegacy &Analysis, llvm::Module &M);
  bool stopped() const { return Sessions.stopped(); }

  // The advisors of one function.
  std::unique_ptr<llvm::RegAllocEvictionAdvisor>
  adviseEviction(const llvm::MachineFunction &MF, const llvm::RAGreedy &RA,
                 llvm::MachineBlockFrequencyInfo *Frequencies,
                 llvm::MachineLoopInfo *Loops);
  std::unique_ptr<llvm::RegAllocPriorityAdvisor>
  advisePriority(const llvm::MachineFunction &MF, const llvm::RAGreedy &RA,
                 llvm::SlotIndexes &Indexes);

  const AllocationSessions Sessions;
  Session *const Evict, *const Priority;
  ReleaseEviction Eviction;
  ReleasePriority Priorities;
  TensorReceiver *Receiver = nullptr; ///< gets LLVM's eviction tensors
  /// If set, receives the cost of each allocated function. If the allocator
  /// runs several times over a function (AMDGPU), the last run counts.
  std::vector<AllocationCost> *Costs = nullptr;
  /// The function that is being allocated; null between functions.
  std::unique_ptr<FunctionAllocation> Current;

private:
  llvm::LLVMContext &Context;

  void receiveTensors();
};

} // namespace passpilot
