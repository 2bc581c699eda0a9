// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All that depends on the inside of one LLVM version (22) is in this header:
// the counters of MLInlineAdvisor that LLVM updates only for inlinings which it
// proposed itself, who is told of changes of a machine function, and who
// watches the passes of a pass builder. The language lets an explicit
// instantiation name private members; if a later LLVM renames one, this header
// stops compiling.

#ifndef PASSPILOT_LLVM_PRIVATE_MEMBERS_H
#define PASSPILOT_LLVM_PRIVATE_MEMBERS_H

#include "llvm/Analysis/MLInlineAdvisor.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Passes/PassBuilder.h"

#if LLVM_VERSION_MAJOR != 22
#error                                                                         \
    "passpilot is written for LLVM 22; check the members below against this version"
#endif

namespace passpilot {

// One friend function per member, found by name at file scope.
template <typename Tag, typename Tag::Type Member> struct Open {
  friend typename Tag::Type member(Tag) { return Member; }
};

struct NodeCountTag {
  using Type = int64_t llvm::MLInlineAdvisor::*;
  friend Type member(NodeCountTag);
};
struct EdgeCountTag {
  using Type = int64_t llvm::MLInlineAdvisor::*;
  friend Type member(EdgeCountTag);
};
struct InitialIRSizeTag {
  using Type = const int32_t llvm::MLInlineAdvisor::*;
  friend Type member(InitialIRSizeTag);
};
struct CurrentIRSizeTag {
  using Type = int32_t llvm::MLInlineAdvisor::*;
  friend Type member(CurrentIRSizeTag);
};
struct NodesInLastSCCTag {
  using Type = llvm::SmallPtrSet<const llvm::LazyCallGraph::Node *, 1>
      llvm::MLInlineAdvisor::*;
  friend Type member(NodesInLastSCCTag);
};
struct DeadFunctionsTag {
  using Type = llvm::DenseSet<llvm::Function *> llvm::MLInlineAdvisor::*;
  friend Type member(DeadFunctionsTag);
};
struct FunctionDelegateTag {
  using Type = llvm::MachineFunction::Delegate *llvm::MachineFunction::*;
  friend Type member(FunctionDelegateTag);
};
struct RegisterDelegatesTag {
  using Type = llvm::SmallPtrSet<llvm::MachineRegisterInfo::Delegate *, 1>
      llvm::MachineRegisterInfo::*;
  friend Type member(RegisterDelegatesTag);
};
struct InstrumentationTag {
  using Type = llvm::PassInstrumentationCallbacks *llvm::PassBuilder::*;
  friend Type member(InstrumentationTag);
};

template struct Open<NodeCountTag, &llvm::MLInlineAdvisor::NodeCount>;
template struct Open<EdgeCountTag, &llvm::MLInlineAdvisor::EdgeCount>;
template struct Open<InitialIRSizeTag, &llvm::MLInlineAdvisor::InitialIRSize>;
template struct Open<CurrentIRSizeTag, &llvm::MLInlineAdvisor::CurrentIRSize>;
template struct Open<NodesInLastSCCTag, &llvm::MLInlineAdvisor::NodesInLastSCC>;
template struct Open<DeadFunctionsTag, &llvm::MLInlineAdvisor::DeadFunctions>;
template struct Open<FunctionDelegateTag, &llvm::MachineFunction::TheDelegate>;
template struct Open<RegisterDelegatesTag,
                     &llvm::MachineRegisterInfo::TheDelegates>;
template struct Open<InstrumentationTag, &llvm::PassBuilder::PIC>;

/// The member that \p Tag names, of \p Object.
template <typename Class, typename Tag>
auto &privateMember(Class &Object, Tag T) {
  return Object.*member(T);
}

} // namespace passpilot

#endif
