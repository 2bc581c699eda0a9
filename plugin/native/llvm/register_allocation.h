// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The advisors of LLVM's greedy register allocator during one compilation.
// LLVM's ML advisors write the features into a session's buffers and map
// columns to registers; the session answers; LLVM's default advisors give the
// default decision, and decide where LLVM would not ask a model.

#ifndef PASSPILOT_LLVM_REGISTER_ALLOCATION_H
#define PASSPILOT_LLVM_REGISTER_ALLOCATION_H

#include "../runtime/session.h"
#include "allocation_cost.h"
#include "live_range_question.h"
#include "release_advisors.h"

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

/// Callbacks of a code generation: Begin finds the module's advisors, End is
/// called when it is over.
struct AllocationHost {
  std::function<RegisterAllocation &(llvm::Module &)> Begin;
  std::function<void()> End = [] {};
};

/// Advises the register allocation of one module's code generation.
class RegisterAllocation {
public:
  /// A null session leaves its point to LLVM's default. Throws
  /// WrongLLVM.
  RegisterAllocation(llvm::LLVMContext &C, Session *Evict, Session *Priority);
  ~RegisterAllocation();

  /// Call this before the code generator adds its passes.
  void install(llvm::legacy::PassManagerBase &PM);
  /// The analyses from which LLVM's allocator gets its advisors.
  static llvm::Pass *createEvictionAnalysis(AllocationHost Host);
  static llvm::Pass *createPriorityAnalysis(AllocationHost Host);
  /// Whether a session has stopped the compilation.
  bool stopped() const;

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

#endif
