// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All that depends on the inside of one LLVM version. To support another LLVM,
// start here: if it renames a member, compat.cpp does not compile; if it moves
// one of its register allocator's models, release_advisors.cpp says so when it
// runs.

#ifndef PASSPILOT_LLVM_COMPAT_H
#define PASSPILOT_LLVM_COMPAT_H

#include "llvm/Analysis/MLInlineAdvisor.h"
#include "llvm/Analysis/MLModelRunner.h"
#include "llvm/Analysis/TensorSpec.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/CodeGen/RegAllocEvictionAdvisor.h"
#include "llvm/CodeGen/RegAllocPriorityAdvisor.h"
#include "llvm/Passes/PassBuilder.h"

#include <cstddef>
#include <memory>
#include <vector>

namespace passpilot {

/// The books of LLVM's ML inline advisor, which it updates only for inlinings
/// that it proposed itself.
struct InlineBooks {
  int64_t &NodeCount, &EdgeCount;
  const int32_t &InitialIRSize;
  int32_t &CurrentIRSize;
  llvm::SmallPtrSet<const llvm::LazyCallGraph::Node *, 1> &NodesInLastSCC;
  llvm::DenseSet<llvm::Function *> &DeadFunctions;
};
InlineBooks booksOf(llvm::MLInlineAdvisor &A);

/// Who is told of changes of a machine function; null for nobody.
llvm::MachineFunction::Delegate *delegateOf(const llvm::MachineFunction &MF);
/// How many are told of new virtual registers.
size_t delegateCount(const llvm::MachineRegisterInfo &MRI);

/// Who watches the passes of a pass builder; may be null.
llvm::PassInstrumentationCallbacks *&instrumentationOf(llvm::PassBuilder &PB);

// The members of LLVM's two providers of release-mode advisors, as in
// MLRegAllocEvictAdvisor.cpp and MLRegAllocPriorityAdvisor.cpp.
struct EvictionMembers : llvm::RegAllocEvictionAdvisorProvider {
  std::vector<llvm::TensorSpec> InputFeatures;
  std::unique_ptr<llvm::MLModelRunner> Runner;
};
struct PriorityMembers : llvm::RegAllocPriorityAdvisorProvider {
  std::unique_ptr<llvm::MLModelRunner> Runner;
};

} // namespace passpilot

#endif
