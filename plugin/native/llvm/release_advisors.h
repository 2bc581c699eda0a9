// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM's own ML advisors of the register allocator, made to write their tensors
// into our buffers. They keep a model runner in a private member; it is put
// there before LLVM would make one. compat.h declares those members again, and
// what can be checked of them is checked each time.

#ifndef PASSPILOT_LLVM_RELEASE_ADVISORS_H
#define PASSPILOT_LLVM_RELEASE_ADVISORS_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Analysis/MLModelRunner.h"
#include "llvm/Analysis/TensorSpec.h"
#include "llvm/CodeGen/RegAllocEvictionAdvisor.h"
#include "llvm/CodeGen/RegAllocPriorityAdvisor.h"

#include <functional>
#include <memory>
#include <stdexcept>
#include <vector>

namespace passpilot {

/// Columns of the eviction model: 32 registers, and the candidate itself, which
/// means not to evict.
constexpr int64_t EvictColumns = 33;
constexpr int64_t DoNotEvict = 32;

/// This LLVM is not the one that the members in compat.h belong to.
struct WrongLLVM : std::runtime_error {
  using runtime_error::runtime_error;
};

/// Receives LLVM's tensors. Index -> buffer, which stays where it is.
using TensorBuffers = std::function<void *(size_t)>;

/// Stands where LLVM keeps its model.
class TensorReceiver final : public llvm::MLModelRunner {
public:
  TensorReceiver(llvm::LLVMContext &C,
                 const std::vector<llvm::TensorSpec> &Specs,
                 const TensorBuffers &Buffers);
  /// Answers LLVM's question, which is in the buffers: with a column.
  /// It refers to a function object that lives for that question only.
  llvm::function_ref<int64_t()> Answer;

private:
  int64_t Column = 0; // its bytes also are the float 0 that priority ignores
  void *evaluateUntyped() override;
};

/// LLVM's ML eviction advisor.
class ReleaseEviction {
public:
  /// Throws WrongLLVM if this one keeps its model elsewhere.
  explicit ReleaseEviction(llvm::LLVMContext &C);
  /// The specs of its tensors, LLVM's own list.
  const std::vector<llvm::TensorSpec> &features() const;
  /// To be called once, before the first getAdvisor().
  TensorReceiver &receive(llvm::LLVMContext &C, const TensorBuffers &Buffers);
  llvm::RegAllocEvictionAdvisorProvider &provider() { return *Provider; }

private:
  std::unique_ptr<llvm::RegAllocEvictionAdvisorProvider> Provider;
};

/// LLVM's ML priority advisor.
class ReleasePriority {
public:
  ReleasePriority();
  static const std::vector<llvm::TensorSpec> &features();
  void receive(llvm::LLVMContext &C, const TensorBuffers &Buffers);
  llvm::RegAllocPriorityAdvisorProvider &provider() { return *Provider; }

private:
  std::unique_ptr<llvm::RegAllocPriorityAdvisorProvider> Provider;
};

} // namespace passpilot

#endif
