// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The language lets an explicit instantiation name private members.

#include "compat.h"

#include "llvm/Config/llvm-config.h"
#include "version.h"

#if LLVM_VERSION_MAJOR != PASSPILOT_LLVM_MAJOR
#error "passpilot is written for another LLVM; check compat.h against this one"
#endif

using namespace llvm;

namespace passpilot {

namespace {

/// One friend function for each member, found by the type of its tag.
template <typename Tag, typename Tag::Type Member> struct Open {
  friend typename Tag::Type member(Tag) { return Member; }
};

template <typename T, typename Class, int Number> struct Tag {
  using Type = T Class::*;
  friend Type member(Tag);
};

using NodeCount = Tag<int64_t, MLInlineAdvisor, 0>;
using EdgeCount = Tag<int64_t, MLInlineAdvisor, 1>;
using InitialIRSize = Tag<const int32_t, MLInlineAdvisor, 0>;
using CurrentIRSize = Tag<int32_t, MLInlineAdvisor, 0>;
using NodesInLastSCC =
    Tag<SmallPtrSet<const LazyCallGraph::Node *, 1>, MLInlineAdvisor, 0>;
using DeadFunctions = Tag<DenseSet<Function *>, MLInlineAdvisor, 0>;
using FunctionDelegate = Tag<MachineFunction::Delegate *, MachineFunction, 0>;
using RegisterDelegates =
    Tag<SmallPtrSet<MachineRegisterInfo::Delegate *, 1>, MachineRegisterInfo, 0>;
using Instrumentation = Tag<PassInstrumentationCallbacks *, PassBuilder, 0>;

template struct Open<NodeCount, &MLInlineAdvisor::NodeCount>;
template struct Open<EdgeCount, &MLInlineAdvisor::EdgeCount>;
template struct Open<InitialIRSize, &MLInlineAdvisor::InitialIRSize>;
template struct Open<CurrentIRSize, &MLInlineAdvisor::CurrentIRSize>;
template struct Open<NodesInLastSCC, &MLInlineAdvisor::NodesInLastSCC>;
template struct Open<DeadFunctions, &MLInlineAdvisor::DeadFunctions>;
template struct Open<FunctionDelegate, &MachineFunction::TheDelegate>;
template struct Open<RegisterDelegates, &MachineRegisterInfo::TheDelegates>;
template struct Open<Instrumentation, &PassBuilder::PIC>;

} // namespace

InlineBooks booksOf(MLInlineAdvisor &A) {
  return {A.*member(NodeCount()),      A.*member(EdgeCount()),
          A.*member(InitialIRSize()),  A.*member(CurrentIRSize()),
          A.*member(NodesInLastSCC()), A.*member(DeadFunctions())};
}

MachineFunction::Delegate *delegateOf(const MachineFunction &MF) {
  return MF.*member(FunctionDelegate());
}

size_t delegateCount(const MachineRegisterInfo &MRI) {
  return (MRI.*member(RegisterDelegates())).size();
}

PassInstrumentationCallbacks *&instrumentationOf(PassBuilder &PB) {
  return PB.*member(Instrumentation());
}

} // namespace passpilot
