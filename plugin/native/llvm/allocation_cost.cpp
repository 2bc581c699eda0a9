// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "allocation_cost.h"

#include "live_range.h"
#include "llvm/CodeGen/MachineFrameInfo.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/PseudoSourceValue.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/CodeGen/VirtRegMap.h"

#include <optional>

using namespace llvm;

namespace passpilot {

static const struct {
  const char *Name;
  double Weight;
} Kinds[CostKinds] = {{"spills", 1},
                      {"reloads", 4},
                      {"folded_spills", 1},
                      {"folded_reloads", 4},
                      {"folded_both", 5},
                      {"copies", 0.2},
                      {"cheap_rematerializations", 0.2},
                      {"rematerializations", 1}};

const char *costName(CostKind K) { return Kinds[static_cast<size_t>(K)].Name; }

double AllocationCost::total() const {
  double Sum = 0;
  for (size_t I = 0; I < CostKinds; ++I)
    Sum += Kinds[I].Weight * Frequencies[I];
  return Sum;
}

/// The physical register of a copy's operand; none if it has none.
static MCRegister physical(const FunctionAllocation &F,
                           const MachineOperand &O) {
  const Register Reg = O.getReg();
  const MCRegister Phys =
      Reg.isVirtual() ? F.VRM.getPhys(Reg) : MCRegister(Reg);
  return Phys && O.getSubReg() ? F.TRI.getSubReg(Phys, O.getSubReg()) : Phys;
}

static bool
touchesSpillSlot(const MachineFrameInfo &Frame,
                 const SmallVectorImpl<const MachineMemOperand *> &Accesses) {
  return any_of(Accesses, [&](const MachineMemOperand *A) {
    return Frame.isSpillSlotObjectIndex(
        cast<FixedStackPseudoSourceValue>(A->getPseudoValue())
            ->getFrameIndex());
  });
}

static std::optional<CostKind> copyKind(const FunctionAllocation &F,
                                        const DestSourcePair &Copy) {
  // A copy of two registers that were physical from the start is none of the
  // allocator's, and one within a register goes away.
  const bool Ours = Copy.Destination->getReg().isVirtual() ||
                    Copy.Source->getReg().isVirtual();
  if (!Ours || physical(F, *Copy.Destination) == physical(F, *Copy.Source))
    return std::nullopt;
  return CostKind::Copy;
}

static std::optional<CostKind> kindOf(const FunctionAllocation &F,
                                      const TargetInstrInfo &TII,
                                      const MachineInstr &I) {
  if (I.isDebugInstr() || I.isKill() || I.isInlineAsm())
    return std::nullopt;
  if (auto Copy = TII.isCopyInstr(I))
    return copyKind(F, *Copy);
  const MachineFrameInfo &Frame = F.MF.getFrameInfo();
  int Slot = 0;
  if (TII.isLoadFromStackSlot(I, Slot) && Frame.isSpillSlotObjectIndex(Slot))
    return CostKind::Reload;
  if (TII.isStoreToStackSlot(I, Slot) && Frame.isSpillSlotObjectIndex(Slot))
    return CostKind::Spill;
  SmallVector<const MachineMemOperand *, 2> Loads, Stores;
  TII.hasLoadFromStackSlot(I, Loads);
  TII.hasStoreToStackSlot(I, Stores);
  const bool Load = touchesSpillSlot(Frame, Loads);
  const bool Store = touchesSpillSlot(Frame, Stores);
  if (Load || Store)
    return Load && Store ? CostKind::FoldedBoth
           : Load        ? CostKind::FoldedReload
                         : CostKind::FoldedSpill;
  if (!TII.isTriviallyReMaterializable(I))
    return std::nullopt;
  return I.getDesc().isAsCheapAsAMove() ? CostKind::CheapRematerialization
                                        : CostKind::Rematerialization;
}

AllocationCost allocationCost(const FunctionAllocation &F) {
  AllocationCost Cost;
  Cost.Function = F.MF.getName().str();
  const TargetInstrInfo &TII = *F.MF.getSubtarget().getInstrInfo();
  for (const MachineBasicBlock &B : F.MF) {
    const double Frequency = frequency(F, B);
    for (const MachineInstr &I : B)
      if (auto Kind = kindOf(F, TII, I)) {
        ++Cost.Counts[static_cast<size_t>(*Kind)];
        Cost.Frequencies[static_cast<size_t>(*Kind)] += Frequency;
      }
  }
  return Cost;
}

} // namespace passpilot
