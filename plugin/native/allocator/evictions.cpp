// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "evictions.h"

#include "llvm/CodeGen/LiveRegMatrix.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/CodeGen/RegisterClassInfo.h"
#include "llvm/CodeGen/VirtRegMap.h"

#include <algorithm>

using namespace llvm;

namespace passpilot {

/// More live ranges in one register unit are too many to evict.
static constexpr unsigned MostRanges = 10;
/// A live range that has been evicted so often stays where it is.
static constexpr unsigned MostEvictions = 16;
/// What it costs to evict a range that has a larger number.
static constexpr unsigned BrokenCascade = 10;

std::optional<EvictionCost> Evictions::cost(const LiveInterval &LI,
                                            MCRegister Reg, bool OnlyLighter) {
  EvictionCost Cost;
  for (MCRegUnit Unit : F.TRI.regunits(Reg)) {
    const auto &Found = F.Matrix.query(LI, Unit).interferingVRegs(MostRanges);
    if (Found.size() >= MostRanges)
      return std::nullopt;
    for (const LiveInterval *Other : Found)
      if (!add(Cost, LI, *Other) || (OnlyLighter && !Cost.Lighter))
        return std::nullopt;
  }
  return Cost;
}

/// A range that cannot be spilled takes a register from one that can, or from
/// one with more registers to choose from.
bool Evictions::isUrgent(const LiveInterval &LI, const LiveInterval &Other) {
  auto Registers = [&](const LiveInterval &Range) {
    return F.Classes.getNumAllocatableRegs(F.MRI.getRegClass(Range.reg()));
  };
  return !LI.isSpillable() &&
         (Other.isSpillable() || Registers(LI) < Registers(Other));
}

/// Adds the cost of evicting \p Other. Returns false if that is forbidden.
bool Evictions::add(EvictionCost &Cost, const LiveInterval &LI,
                    const LiveInterval &Other) {
  const RangeRecord &Its = Records[Other.reg()];
  const unsigned Mine = Records.cascade(LI.reg());
  const bool Urgent = isUrgent(LI, Other);
  if (Its.Done || Mine == Its.Cascade)
    return false;
  if (!Urgent && (Mine < Its.Cascade || !Other.isSpillable() ||
                  Its.Evictions >= MostEvictions))
    return false;
  if (Mine < Its.Cascade)
    Cost.BrokenHints += BrokenCascade;
  const bool Breaks = F.VRM.hasPreferredPhys(Other.reg());
  Cost.BrokenHints += Breaks;
  Cost.MaxWeight = std::max(Cost.MaxWeight, Other.weight());
  ++Cost.Ranges;
  const bool Lighter = Urgent || LI.weight() > Other.weight();
  Cost.Lighter &= Lighter;
  Cost.GivesWayToHint &= Lighter || !Breaks;
  return true;
}

void Evictions::evict(const LiveInterval &LI, MCRegister Reg,
                      SmallVectorImpl<Register> &Evicted) {
  RangeRecord &Mine = Records[LI.reg()];
  if (!Mine.Cascade)
    Mine.Cascade = Records.newCascade();
  SmallVector<const LiveInterval *, 8> All;
  for (MCRegUnit Unit : F.TRI.regunits(Reg)) {
    const auto &Found = F.Matrix.query(LI, Unit).interferingVRegs();
    All.append(Found.begin(), Found.end());
  }
  for (const LiveInterval *Other : All) {
    if (!F.VRM.hasPhys(Other->reg()))
      continue; // interferes in several units
    F.Matrix.unassign(*Other);
    RangeRecord &Its = Records[Other->reg()];
    Its.Cascade = Mine.Cascade;
    ++Its.Evictions;
    F.changed(Other->reg());
    Evicted.push_back(Other->reg());
  }
}

} // namespace passpilot
