// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "hint_recolouring.h"

#include "../llvm/live_range.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/CodeGen/LiveIntervals.h"
#include "llvm/CodeGen/LiveRegMatrix.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/CodeGen/RegisterClassInfo.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"
#include "llvm/CodeGen/VirtRegMap.h"

#include <vector>

using namespace llvm;

namespace passpilot {

/// One move may allow another: how often all copies are looked at.
static constexpr unsigned Rounds = 2;

namespace {

/// A copy between a register and another one.
struct HintingCopy {
  Register Other;
  double Frequency;
};

class HintRecolouring {
public:
  explicit HintRecolouring(FunctionAllocation &F) : F(F) {
    for (const MachineBasicBlock &B : F.MF)
      for (const MachineInstr &I : B)
        if (I.isFullCopy())
          note(I.getOperand(0).getReg(), I.getOperand(1).getReg(),
               frequency(F, B));
  }

  void run() {
    for (unsigned Round = 0; Round < Rounds; ++Round)
      for (const auto &[To, From] : All) {
        tryToJoin(To, From);
        tryToJoin(From, To);
      }
  }

private:
  FunctionAllocation &F;
  std::vector<std::pair<Register, Register>> All;      ///< in the code's order
  DenseMap<Register, std::vector<HintingCopy>> Copies; ///< of a live range

  void note(Register To, Register From, double Frequency) {
    All.emplace_back(To, From);
    if (To.isVirtual())
      Copies[To].push_back({From, Frequency});
    if (From.isVirtual())
      Copies[From].push_back({To, Frequency});
  }

  MCRegister physical(Register Reg) const {
    return Reg.isVirtual() ? F.VRM.getPhys(Reg) : MCRegister(Reg);
  }

  /// What the copies of \p Reg cost if it is in \p Phys.
  double copyCost(Register Reg, MCRegister Phys) const {
    double Sum = 0;
    for (const HintingCopy &C : Copies.find(Reg)->second)
      if (physical(C.Other) != Phys)
        Sum += C.Frequency;
    return Sum;
  }

  /// Moves \p Reg to the register of \p Other, which it is copied to or from,
  /// if that is free and cheaper.
  void tryToJoin(Register Reg, Register Other) {
    if (!Reg.isVirtual() || !F.VRM.hasPhys(Reg))
      return;
    const MCRegister Now = F.VRM.getPhys(Reg), Better = physical(Other);
    if (!Better.isValid() || Better == Now ||
        !is_contained(F.Classes.getOrder(F.MRI.getRegClass(Reg)),
                      Better.id()) ||
        copyCost(Reg, Better) >= copyCost(Reg, Now))
      return;
    const LiveInterval &LI = F.LIS.getInterval(Reg);
    if (!F.TRI.regsOverlap(Now, Better) && !isFree(LI, Better))
      return;
    F.Matrix.unassign(LI);
    F.Matrix.assign(LI, isFree(LI, Better) ? Better : Now);
  }

  bool isFree(const LiveInterval &LI, MCRegister Reg) const {
    return F.Matrix.checkInterference(LI, Reg) == LiveRegMatrix::IK_Free;
  }
};

} // namespace

void recolourForHints(FunctionAllocation &F) { HintRecolouring(F).run(); }

} // namespace passpilot
