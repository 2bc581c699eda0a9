// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "register_allocation.h"

#include "llvm/CodeGen/MachineFunction.h"

using namespace llvm;

namespace passpilot {

namespace {

class PriorityAdvisor final : public RegAllocPriorityAdvisor {
public:
  PriorityAdvisor(const MachineFunction &MF, const RAGreedy &RA,
                  SlotIndexes &Indexes, RegisterAllocation &All,
                  std::unique_ptr<RegAllocPriorityAdvisor> Release)
      : RegAllocPriorityAdvisor(MF, RA, &Indexes), MF(MF), All(All),
        Release(std::move(Release)),
        Default(std::make_unique<DefaultPriorityAdvisor>(MF, RA, &Indexes)) {}

  unsigned getPriority(const LiveInterval &LI) const override {
    All.Current->queueing(LI);
    const unsigned Priority = decide(LI);
    All.Current->queued(LI, Priority);
    return Priority;
  }

private:
  unsigned decide(const LiveInterval &LI) const {
    if (!Release || All.stopped())
      return Default->getPriority(LI);
    Release->getPriority(LI); // only to compute its tensors
    if (!ContextTold)
      All.Priority->switchContext(MF.getName());
    ContextTold = true;
    PriorityQuestion Q(*All.Current, LI);
    auto ByDefault = [&] { return Default->getPriority(LI); };
    Q.Default = ByDefault;
    std::optional<Advice> Answer = All.Priority->ask(Q);
    return Answer ? static_cast<unsigned>(Answer->Number)
                  : Default->getPriority(LI);
  }

  const MachineFunction &MF;
  RegisterAllocation &All;
  // The method is public in the base class, but private in LLVM's advisors.
  const std::unique_ptr<RegAllocPriorityAdvisor> Release, Default;
  mutable bool ContextTold = false;
};

} // namespace

std::unique_ptr<RegAllocPriorityAdvisor>
RegisterAllocation::advisePriority(const MachineFunction &MF,
                                   const RAGreedy &RA, SlotIndexes &Indexes) {
  std::unique_ptr<RegAllocPriorityAdvisor> Release;
  if (Priority)
    Release = Priorities.provider().getAdvisor(MF, RA, Indexes);
  return std::make_unique<PriorityAdvisor>(MF, RA, Indexes, *this,
                                           std::move(Release));
}

} // namespace passpilot
