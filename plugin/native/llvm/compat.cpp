// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The language lets an explicit instantiation name private members.

#include "compat.h"

#include "version.h"
#include "llvm/Config/llvm-config.h"

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

struct NodeCount {
  using Type = int64_t MLInlineAdvisor::*;
  friend Type member(NodeCount);
};
struct EdgeCount {
  using Type = int64_t MLInlineAdvisor::*;
  friend Type member(EdgeCount);
};
struct InitialIRSize {
  using Type = const int32_t MLInlineAdvisor::*;
  friend Type member(InitialIRSize);
};
struct CurrentIRSize {
  using Type = int32_t MLInlineAdvisor::*;
  friend Type member(CurrentIRSize);
};
struct NodesInLastSCC {
  using Type = SmallPtrSet<const LazyCallGraph::Node *, 1> MLInlineAdvisor::*;
  friend Type member(NodesInLastSCC);
};
struct DeadFunctions {
  using Type = DenseSet<Function *> MLInlineAdvisor::*;
  friend Type member(DeadFunctions);
};
struct FunctionDelegate {
  using Type = MachineFunction::Delegate *MachineFunction::*;
  friend Type member(FunctionDelegate);
};
struct RegisterDelegates {
  using Type =
      SmallPtrSet<MachineRegisterInfo::Delegate *, 1> MachineRegisterInfo::*;
  friend Type member(RegisterDelegates);
};
struct Instrumentation {
  using Type = PassInstrumentationCallbacks *PassBuilder::*;
  friend Type member(Instrumentation);
};

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
