// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "hint_recolouring.h"

#include "../llvm/live_range.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/CodeGen/LiveIntervals.h"
#include "llvm/CodeGen/LiveRegMatrix.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/CodeGen/RegisterClassInfo.h"
#include "llvm/CodeGen/VirtRegMap.h"

using namespace llvm;

namespace passpilot {

/// One move may allow another: how often all copies are looked at.
static constexpr unsigned Rounds = 2;

static MCRegister physical(const FunctionAllocation &F, Register Reg) {
  return Reg.isVirtual() ? F.VRM.getPhys(Reg) : MCRegister(Reg);
}

/// The other register of a copy.
static Register partner(const MachineInstr &Copy, Register Reg) {
  const Register To = Copy.getOperand(0).getReg();
  return To == Reg ? Copy.getOperand(1).getReg() : To;
}

/// What the copies of \p Reg cost if it is in \p Phys.
static double copyCost(const FunctionAllocation &F, Register Reg,
                       MCRegister Phys) {
  double Sum = 0;
  for (const MachineInstr &I : F.MRI.reg_nodbg_instructions(Reg))
    if (I.isFullCopy() && physical(F, partner(I, Reg)) != Phys)
      Sum += frequency(F, *I.getParent());
  return Sum;
}

/// Moves \p Reg to the register of the other side of \p Copy, if that is free
/// and cheaper.
static void tryToJoin(FunctionAllocation &F, const MachineInstr &Copy,
                      Register Reg) {
  if (!Reg.isVirtual() || !F.VRM.hasPhys(Reg))
    return;
  const MCRegister Now = F.VRM.getPhys(Reg);
  const MCRegister Better = physical(F, partner(Copy, Reg));
  if (!Better.isValid() || Better == Now ||
      !is_contained(F.Classes.getOrder(F.MRI.getRegClass(Reg)), Better.id()) ||
      copyCost(F, Reg, Better) >= copyCost(F, Reg, Now))
    return;
  const LiveInterval &LI = F.LIS.getInterval(Reg);
  F.Matrix.unassign(LI);
  const bool IsFree =
      F.Matrix.checkInterference(LI, Better) == LiveRegMatrix::IK_Free;
  F.Matrix.assign(LI, IsFree ? Better : Now);
}

void recolourForHints(FunctionAllocation &F) {
  for (unsigned Round = 0; Round < Rounds; ++Round)
    for (const MachineBasicBlock &B : F.MF)
      for (const MachineInstr &I : B)
        if (I.isFullCopy()) {
          tryToJoin(F, I, I.getOperand(0).getReg());
          tryToJoin(F, I, I.getOperand(1).getReg());
        }
}

} // namespace passpilot
