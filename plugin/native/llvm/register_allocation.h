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
