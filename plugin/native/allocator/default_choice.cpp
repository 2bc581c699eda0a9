// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "default_choice.h"

#include "../llvm/live_range.h"
#include "region_finder.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/CodeGen/LiveRegMatrix.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/CodeGen/RegisterClassInfo.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"
#include "llvm/CodeGen/VirtRegMap.h"

#include <utility>
#include <vector>

using namespace llvm;

namespace passpilot {

std::optional<size_t> freeRegister(const RangeChoices &C) {
  std::optional<size_t> First;
  for (const auto &[I, R] : enumerate(C.Registers)) {
    if (!R.IsFree)
      continue;
    if (R.Reg == C.Record.Wanted && !(First && C.Registers[*First].IsHint))
      return I;
    if (!First)
      First = I;
  }
  return First;
}

std::optional<size_t> cheapestEviction(const RangeChoices &C,
                                       bool OnlyIfItPays) {
  std::optional<size_t> Best;
  for (const auto &[I, R] : enumerate(C.Registers)) {
    if (!R.Eviction || (OnlyIfItPays && !R.Eviction->Lighter))
      continue;
    if (Best && !(*R.Eviction < *C.Registers[*Best].Eviction))
      continue;
    Best = I;
    if (R.IsHint)
      break;
  }
  return Best;
}

std::optional<size_t> hintWorthEvicting(const RangeChoices &C) {
  const auto Free = freeRegister(C);
  if (!Free || C.Registers[*Free].IsHint)
    return std::nullopt;
  for (const auto &[I, R] : enumerate(C.Registers))
    if (R.IsHint && R.Eviction && R.Eviction->GivesWayToHint &&
        R.Eviction->BrokenHints == 0)
      return I;
  return std::nullopt;
}

AllocatorAction defaultAction(const RangeChoices &C) {
  using Action = AllocatorAction;
  if (C.allows(Action::Assign))
    return hintWorthEvicting(C) ? Action::Evict : Action::Assign;
  if (!C.Record.Waited && cheapestEviction(C, /*OnlyIfItPays=*/true))
    return Action::Evict;
  if (C.allows(Action::Wait))
    return Action::Wait;
  if (C.MaySplit && !C.Regions.empty() &&
      promise(C.Regions.front(), *C.Live) > 0)
    return Action::Split;
  if (C.allows(Action::Spill))
    return Action::Spill;
  return C.allows(Action::Evict) ? Action::Evict : Action::Split;
}

//===-- Recolouring -------------------------------------------------------===//

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
