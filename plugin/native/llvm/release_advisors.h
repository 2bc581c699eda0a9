// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM's ML advisors of the register allocator, made to write their tensors
// into our buffers. They keep a model runner in a private member; we set it
// before LLVM would create one. compat.h declares those members; what can be
// verified about them is verified each time.

#pragma once

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

/// Columns of the eviction model: 32 registers, then the candidate itself,
/// which means no eviction.
constexpr int64_t EvictColumns = 33;
constexpr int64_t DoNotEvict = 32;

/// The private members of this LLVM differ from those in compat.h.
struct WrongLLVM : std::runtime_error {
  using runtime_error::runtime_error;
};

/// Gives the buffer for LLVM's tensor of this index; buffers do not move.
using TensorBuffers = std::function<void *(size_t)>;

/// The model runner that LLVM's advisor uses.
class TensorReceiver final : public llvm::MLModelRunner {
public:
  TensorReceiver(llvm::LLVMContext &C,
                 const std::vector<llvm::TensorSpec> &Specs,
                 const TensorBuffers &Buffers);
  /// Answers LLVM's question with a column; the tensors are in the buffers. The
  /// function object lives only during that question.
  llvm::function_ref<int64_t()> Answer;

private:
  int64_t Column = 0; // as a float it is 0, which priority ignores
  void *evaluateUntyped() override;
};

/// LLVM's ML eviction advisor.
class ReleaseEviction {
public:
  /// Throws WrongLLVM if this LLVM keeps its model elsewhere.
  explicit ReleaseEviction(llvm::LLVMContext &C);
  /// The specs of its tensors, from LLVM's own list.
  const std::vector<llvm::TensorSpec> &features() const;
  /// Call this once, before the first getAdvisor().
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
