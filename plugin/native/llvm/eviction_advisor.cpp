// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "register_allocation.h"

#include "compat.h"
#include "version.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/CodeGen/LiveInterval.h"
#include "llvm/CodeGen/LiveIntervals.h"
#include "llvm/CodeGen/LiveRegMatrix.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/CodeGen/RegisterClassInfo.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"
#include "llvm/CodeGen/VirtRegMap.h"

using namespace llvm;

namespace passpilot {

namespace {

class EvictionAdvisor final : public RegAllocEvictionAdvisor {
public:
  EvictionAdvisor(const MachineFunction &MF, const RAGreedy &RA,
                  RegisterAllocation &All,
                  std::unique_ptr<RegAllocEvictionAdvisor> Release,
                  MachineBlockFrequencyInfo *Frequencies,
                  MachineLoopInfo *Loops)
      : RegAllocEvictionAdvisor(MF, RA), All(All), Release(std::move(Release)),
        Default(std::make_unique<DefaultEvictionAdvisor>(MF, RA)) {
    All.Current.reset(new FunctionAllocation{MF, *LIS, *VRM, *Matrix, *MRI,
                                             *TRI, RegClassInfo, Frequencies,
                                             Loops, delegateCount(*MRI)});
  }
  /// Runs when the function's allocation ends.
  ~EvictionAdvisor() override {
    if (All.Costs)
      addCost();
    All.Current.reset();
  }

private:
  RegisterAllocation &All;
  const std::unique_ptr<RegAllocEvictionAdvisor> Release, Default;
  mutable bool ContextTold = false;
  // How often the answers have evicted each live range.
  mutable DenseMap<Register, unsigned> Evictions;
  mutable unsigned MostEvictions = 0;

  MCRegister
  tryFindEvictionCandidate(const LiveInterval &VirtReg,
                           const AllocationOrder &Order, uint8_t CostLimit,
                           const SmallVirtRegSet &Fixed) const override;
  bool canEvictHintInterference(const LiveInterval &VirtReg, MCRegister Reg,
                                const SmallVirtRegSet &Fixed) const override {
    if (!Default->canEvictHintInterference(VirtReg, Reg, Fixed))
      return false;
    All.Current->evicting(VirtReg, Reg);
    return true;
  }

  static bool mustEvict(const LiveInterval &VirtReg, uint8_t CostLimit) {
    return !VirtReg.isSpillable() && CostLimit == 0xff;
  }
  MCRegister makeRoom(const LiveInterval &VirtReg,
                      const SmallVirtRegSet &Fixed) const;
  MCRegister choose(const LiveInterval &VirtReg, const AllocationOrder &Order,
                    uint8_t CostLimit, const SmallVirtRegSet &Fixed) const;
  bool findColumns(EvictQuestion &Q, const AllocationOrder &Order,
                   uint8_t CostLimit) const;
  int64_t answer(EvictQuestion &Q, std::optional<MCRegister> &Chosen) const;
  int64_t overrule(EvictQuestion &Q, std::optional<MCRegister> &Chosen) const;
  void applyLimit(EvictQuestion &Q) const;
  bool overLimit(const EvictQuestion &Q, int64_t Column) const;
  void count(const EvictQuestion &Q, int64_t Column) const;
  void addCost();
};

MCRegister EvictionAdvisor::tryFindEvictionCandidate(
    const LiveInterval &VirtReg, const AllocationOrder &Order,
    uint8_t CostLimit, const SmallVirtRegSet &Fixed) const {
  MCRegister Reg = choose(VirtReg, Order, CostLimit, Fixed);
  if (!Reg.isValid() && mustEvict(VirtReg, CostLimit))
    Reg = makeRoom(VirtReg, Fixed);
  if (Reg.isValid())
    All.Current->evicting(VirtReg, Reg);
  return Reg;
}

/// Finds the register whose lightest ranges, all of which can be spilled, make
/// room for a range that cannot. LLVM evicts no range of the same cascade: with
/// answers that let ranges evict each other for long, all neighbours may have
/// one, and LLVM runs out of registers. Its assertions permit these evictions.
MCRegister EvictionAdvisor::makeRoom(const LiveInterval &VirtReg,
                                     const SmallVirtRegSet &Fixed) const {
  MCRegister Best;
  float Least = huge_valf;
  for (MCPhysReg Reg : RegClassInfo.getOrder(MRI->getRegClass(VirtReg.reg()))) {
    if (Matrix->checkInterference(VirtReg, Reg) != LiveRegMatrix::IK_VirtReg)
      continue;
    float Heaviest = 0;
    for (MCRegUnit Unit : TRI->regunits(Reg))
      for (const LiveInterval *LI :
           Matrix->query(VirtReg, Unit).interferingVRegs())
        Heaviest = std::max(Heaviest, Fixed.contains(LI->reg()) ? huge_valf
                                                                : LI->weight());
    if (Heaviest < Least) {
      Least = Heaviest;
      Best = Reg;
    }
  }
  return Best;
}

MCRegister EvictionAdvisor::choose(const LiveInterval &VirtReg,
                                   const AllocationOrder &Order,
                                   uint8_t CostLimit,
                                   const SmallVirtRegSet &Fixed) const {
  auto ByDefault = [&] {
    return Default->tryFindEvictionCandidate(VirtReg, Order, CostLimit, Fixed);
  };
  if (!Release || All.stopped())
    return ByDefault();
  EvictQuestion Q(*All.Current, VirtReg, All.Evict->mask(),
                  mustEvict(VirtReg, CostLimit), !Fixed.empty());
  Stopwatch Watch;
  const bool Askable = findColumns(Q, Order, CostLimit);
  All.Evict->Counts.AskSeconds += Watch.seconds();
  if (!Askable) {
    ++All.Evict->Counts.NotAskable;
    return ByDefault();
  }
  Q.Default = ByDefault;
  auto Count = [&](int64_t Column) { count(Q, Column); };
  if (All.Evict->Limit > 0)
    Q.Count = Count;
  // Set if it overrides the result of LLVM's advisor.
  std::optional<MCRegister> Chosen;
  auto Answer = [&] { return answer(Q, Chosen); };
  All.Receiver->Answer = Answer;
  const MCRegister Found =
      Release->tryFindEvictionCandidate(VirtReg, Order, CostLimit, Fixed);
  All.Receiver->Answer = nullptr;
  return Chosen ? *Chosen : Found;
}

/// Lists the registers in the columns of LLVM's model. Returns false if the
/// model must not be asked: LLVM overflows its columns if there are more
/// registers, and reads the ends of an empty range.
bool EvictionAdvisor::findColumns(EvictQuestion &Q,
                                  const AllocationOrder &Order,
                                  uint8_t CostLimit) const {
  if (Q.Range.empty())
    return false;
  const auto &[Hints, Class, IterationLimit] = membersOf(Order);
  const auto Limit = getOrderLimit(Q.Range, Order, CostLimit);
  if (Class.data() !=
      RegClassInfo.getOrder(MRI->getRegClass(Q.Range.reg())).data()) {
    All.Evict->abandon(
        FailureKind::Model,
        "expected LLVM's AllocationOrder of version " PASSPILOT_LLVM_MAJOR_TEXT
        ", got another; use the LLVM that passpilot was built with");
    return false;
  }
  Q.Registers.append(Hints.begin(), Hints.end());
  Q.HintCount = Hints.size();
  if (IterationLimit)
    for (MCPhysReg Reg : Class.take_front(Limit.value_or(0)))
      if (!is_contained(Hints, Reg))
        Q.Registers.push_back(Reg);
  return Q.Registers.size() < EvictColumns;
}

/// Answers LLVM, which has written its tensors into the session's buffers.
int64_t EvictionAdvisor::answer(EvictQuestion &Q,
                                std::optional<MCRegister> &Chosen) const {
  Session &S = *All.Evict;
  if (!ContextTold)
    S.switchContext(MF.getName());
  ContextTold = true;
  if (S.Limit > 0 && MostEvictions >= S.Limit)
    applyLimit(Q);
  // Where a register must be found, the default may recolour other ranges
  // instead of evicting; the model has no column for that.
  if (Q.MustEvict && !Q.Mask[Q.column(Q.Default())]) {
    ++S.Counts.NotAskable;
    return overrule(Q, Chosen);
  }
  std::optional<Advice> Answer = S.ask(Q);
  if (Answer && Q.Mask[Answer->Integer])
    return Answer->Integer;
  // The session has stopped, or took a default that LLVM's ML advisor would not
  // consider: override LLVM's advisor with the default.
  return overrule(Q, Chosen);
}

/// Chooses LLVM's default; returns a legal answer for LLVM's ML advisor.
int64_t EvictionAdvisor::overrule(EvictQuestion &Q,
                                  std::optional<MCRegister> &Chosen) const {
  Chosen = Q.Default();
  return find(ArrayRef(Q.Mask, EvictColumns), 1) - Q.Mask;
}

/// Masks columns whose live ranges have been evicted too often. Keeps the
/// default's column, and all columns if none would be left.
void EvictionAdvisor::applyLimit(EvictQuestion &Q) const {
  int64_t *Mask = All.Evict->mask();
  const std::vector<int64_t> Before(Mask, Mask + EvictColumns);
  bool Any = Mask[DoNotEvict];
  for (int64_t I = 0; I < DoNotEvict; ++I) {
    Mask[I] &= !overLimit(Q, I);
    Any |= Mask[I];
  }
  const int64_t Chosen = Q.column(Q.Default());
  Mask[Chosen] = Before[Chosen];
  if (!Any && !Mask[Chosen])
    std::copy(Before.begin(), Before.end(), Mask);
}

bool EvictionAdvisor::overLimit(const EvictQuestion &Q, int64_t Column) const {
  auto Allocatable = [&](const LiveInterval &LI) {
    return RegClassInfo.getNumAllocatableRegs(MRI->getRegClass(LI.reg()));
  };
  return any_of(Q.interferences(Column), [&](const LiveInterval *LI) {
    const bool Urgent =
        !Q.Range.isSpillable() &&
        (LI->isSpillable() || Allocatable(Q.Range) < Allocatable(*LI));
    return !Urgent && Evictions.lookup(LI->reg()) >= All.Evict->Limit;
  });
}

void EvictionAdvisor::count(const EvictQuestion &Q, int64_t Column) const {
  SmallPtrSet<const LiveInterval *, 8> Seen;
  // LLVM's queries still hold the results: LLVM has looked at every range that
  // interferes in a legal column.
  for (MCRegUnit Unit : TRI->regunits(Q.Registers[Column]))
    for (const LiveInterval *LI :
         Matrix->query(Q.Range, Unit).interferingVRegs())
      if (Seen.insert(LI).second)
        MostEvictions = std::max(MostEvictions, ++Evictions[LI->reg()]);
}

void EvictionAdvisor::addCost() {
  std::vector<AllocationCost> &Costs = *All.Costs;
  if (!Costs.empty() && MF.getName() == Costs.back().Function)
    Costs.pop_back();
  Costs.push_back(allocationCost(*All.Current));
}

} // namespace

std::unique_ptr<RegAllocEvictionAdvisor> RegisterAllocation::adviseEviction(
    const MachineFunction &MF, const RAGreedy &RA,
    MachineBlockFrequencyInfo *Frequencies, MachineLoopInfo *Loops) {
  std::unique_ptr<RegAllocEvictionAdvisor> Release;
  if (Evict)
    Release = Eviction.provider().getAdvisor(MF, RA, Frequencies, Loops);
  return std::make_unique<EvictionAdvisor>(MF, RA, *this, std::move(Release),
                                           Frequencies, Loops);
}

} // namespace passpilot
