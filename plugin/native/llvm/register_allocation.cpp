// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "register_allocation.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace passpilot {

namespace {

class EvictionProvider final : public RegAllocEvictionAdvisorProvider {
public:
  EvictionProvider(Module &M, const FindAllocation &Find)
      : RegAllocEvictionAdvisorProvider(AdvisorMode::Release, M.getContext()),
        M(M), Find(Find) {}
  std::unique_ptr<RegAllocEvictionAdvisor>
  getAdvisor(const MachineFunction &MF, const RAGreedy &RA,
             MachineBlockFrequencyInfo *Frequencies,
             MachineLoopInfo *Loops) override {
    return Find(M).adviseEviction(MF, RA, Frequencies, Loops);
  }

private:
  Module &M;
  const FindAllocation &Find;
};

class PriorityProvider final : public RegAllocPriorityAdvisorProvider {
public:
  PriorityProvider(Module &M, const FindAllocation &Find)
      : RegAllocPriorityAdvisorProvider(AdvisorMode::Release), M(M),
        Find(Find) {}
  std::unique_ptr<RegAllocPriorityAdvisor>
  getAdvisor(const MachineFunction &MF, const RAGreedy &RA,
             SlotIndexes &Indexes) override {
    return Find(M).advisePriority(MF, RA, Indexes);
  }

private:
  Module &M;
  const FindAllocation &Find;
};

/// An analysis of the legacy pass manager that provides our advisors.
template <typename AnalysisT, typename ProviderT>
class AdvisedAnalysis final : public AnalysisT {
public:
  const FindAllocation Find;
  explicit AdvisedAnalysis(FindAllocation Find)
      : AnalysisT(AnalysisT::AdvisorMode::Release), Find(std::move(Find)) {}
  bool doInitialization(Module &M) override {
    this->Provider = std::make_unique<ProviderT>(M, Find);
    return false;
  }
};

/// Says which advisors this thread's code generation has.
class ThreadsAllocation final : public ImmutablePass {
public:
  static char ID;
  static thread_local const FindAllocation *Find;
  explicit ThreadsAllocation(FindAllocation Mine)
      : ImmutablePass(ID), Mine(std::move(Mine)) {}
  bool doInitialization(Module &) override {
    Before = std::exchange(Find, &Mine);
    return false;
  }
  bool doFinalization(Module &) override {
    Find = Before;
    return false;
  }

private:
  const FindAllocation Mine;
  const FindAllocation *Before = nullptr;
};
char ThreadsAllocation::ID = 0;
thread_local const FindAllocation *ThreadsAllocation::Find = nullptr;

using EvictionAnalysis =
    AdvisedAnalysis<RegAllocEvictionAdvisorAnalysisLegacy, EvictionProvider>;
using PriorityAnalysis =
    AdvisedAnalysis<RegAllocPriorityAdvisorAnalysisLegacy, PriorityProvider>;

} // namespace

AllocationSessions
AllocationSessions::find(function_ref<Session *(const char *Point)> At) {
  return {At("evict"),     At("priority"), At("ra-order"), At("ra-action"),
          At("ra-colour"), At("ra-split"), At("schedule")};
}

bool AllocationSessions::stopped() const {
  return any_of(
      ArrayRef({Evict, Priority, Order, Action, Colour, Split, Schedule}),
      [](const Session *S) { return S && S->stopped(); });
}

RegisterAllocation::RegisterAllocation(LLVMContext &C,
                                       const AllocationSessions &Sessions)
    : Sessions(Sessions), Evict(Sessions.Evict), Priority(Sessions.Priority),
      Eviction(C), Context(C) {
  receiveTensors();
}

RegisterAllocation::~RegisterAllocation() = default;

void RegisterAllocation::receiveTensors() {
  if (Evict)
    Receiver = &Eviction.receive(
        Context, [this](size_t I) { return Evict->feature(I); });
  if (Priority)
    Priorities.receive(Context,
                       [this](size_t I) { return Priority->feature(I); });
}

void RegisterAllocation::install(legacy::PassManagerBase &PM,
                                 FindAllocation Find) {
  PM.add(new EvictionAnalysis(Find));
  PM.add(new PriorityAnalysis(Find));
  PM.add(new ThreadsAllocation(std::move(Find)));
}

RegisterAllocation *RegisterAllocation::ofThread(Module &M) {
  return ThreadsAllocation::Find ? &(*ThreadsAllocation::Find)(M) : nullptr;
}

RegisterAllocation *
RegisterAllocation::of(RegAllocEvictionAdvisorAnalysisLegacy &Analysis,
                       Module &M) {
  auto *Ours = dynamic_cast<EvictionAnalysis *>(&Analysis);
  return Ours ? &Ours->Find(M) : nullptr;
}

} // namespace passpilot
