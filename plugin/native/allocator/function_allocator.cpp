// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "function_allocator.h"

#include "../llvm/live_range.h"
#include "default_choice.h"
#include "hint_recolouring.h"
#include "region_finder.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/CodeGen/CalcSpillWeights.h"
#include "llvm/CodeGen/LiveDebugVariables.h"
#include "llvm/CodeGen/LiveIntervals.h"
#include "llvm/CodeGen/LiveRegMatrix.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/CodeGen/RegisterClassInfo.h"
#include "llvm/CodeGen/Spiller.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"
#include "llvm/CodeGen/VirtRegMap.h"

#include <utility>

using namespace llvm;

namespace passpilot {

/// A live range that has come of so many splits is not split again.
static constexpr unsigned MostGenerations = 6;

//===-- What LLVM's edits announce ----------------------------------------===//

bool FunctionAllocator::LRE_CanEraseVirtReg(Register Reg) {
  LiveInterval &LI = F.LIS.getInterval(Reg);
  F.changed(Reg);
  if (F.VRM.hasPhys(Reg)) {
    F.Matrix.unassign(LI);
    return true;
  }
  LI.clear(); // it probably waits; then it is erased when its turn comes
  return false;
}

void FunctionAllocator::LRE_WillShrinkVirtReg(Register Reg) {
  F.changed(Reg);
  if (!F.VRM.hasPhys(Reg))
    return;
  F.Matrix.unassign(F.LIS.getInterval(Reg));
  Waiting.add(Reg);
}

void FunctionAllocator::LRE_DidCloneVirtReg(Register New, Register Old) {
  Records[New] = Records[Old];
}

//===-- The walk over all live ranges -------------------------------------===//

Register FunctionAllocator::run() {
  const Register Stuck = allocateAll();
  if (Stuck)
    releaseAll();
  else
    recolourForHints(F);
  Tools.Spiller.postOptimization();
  for (MachineInstr *Dead : DeadInstructions) {
    F.LIS.RemoveMachineInstrFromMaps(*Dead);
    Dead->eraseFromParent();
  }
  return Stuck;
}

Register FunctionAllocator::allocateAll() {
  for (unsigned I = 0, E = F.MRI.getNumVirtRegs(); I != E; ++I)
    if (const Register Reg = Register::index2VirtReg(I);
        !F.MRI.reg_nodbg_empty(Reg))
      Waiting.add(Reg);
  while (const Register Next = Waiting.take(Advice)) {
    F.Matrix.invalidateVirtRegs();
    F.changed(Next);
    if (!place(F.LIS.getInterval(Next)))
      return Next;
  }
  return {};
}

void FunctionAllocator::releaseAll() {
  for (unsigned I = 0, E = F.MRI.getNumVirtRegs(); I != E; ++I)
    if (const Register Reg = Register::index2VirtReg(I); F.VRM.hasPhys(Reg))
      F.Matrix.unassign(F.LIS.getInterval(Reg));
}

/// Does one step with a live range. Returns false if nothing can be done.
bool FunctionAllocator::place(const LiveInterval &LI) {
  using Action = AllocatorAction;
  RangeChoices C = choicesOf(LI);
  std::optional<LiveBlocks> Live; // C refers to it
  if (!(C.allows(Action::Assign) || C.MayWait) || Advice.readsRegions())
    findRegions(C, Live, !Advice.asksSplit() && !Advice.readsRegions());
  else if (Advice.asksAction())
    lookForRegions(C, Live);
  const Action Default = defaultAction(C);
  if (!C.allows(Default))
    return false;
  const Action Chosen = Advice.action(C, Default);
  RangeRecord &Record = Records[LI.reg()];
  switch (Chosen) {
  case Action::Assign:
    assign(LI, C.Registers[Advice.colour(C, false, *freeRegister(C))].Reg);
    break;
  case Action::Evict: {
    if (Advice.asksAction() || Advice.asksColour())
      findEvictions(C, /*OnlyLighter=*/false);
    auto Best = hintWorthEvicting(C);
    if (!Best)
      Best = cheapestEviction(C, Chosen == Default && !Record.Waited);
    evict(LI, C.Registers[Advice.colour(C, true, *Best)].Reg);
    break;
  }
  case Action::Split:
    if (C.Regions.empty())
      findRegions(C, Live, /*OnlyBest=*/false);
    split(C, C.Regions[Advice.split(C)]);
    break;
  case Action::Spill:
    spill(LI);
    break;
  case Action::Wait:
    Record.Waited = true;
    Waiting.add(LI.reg());
    break;
  }
  return true;
}

//===-- What can be done --------------------------------------------------===//

RangeChoices FunctionAllocator::choicesOf(const LiveInterval &LI) {
  const RangeRecord &Record = Records[LI.reg()];
  RangeChoices C{LI, Record, {}};
  C.MayWait = !Record.Waited;
  C.MaySpill = LI.isSpillable() && !Record.Done;
  C.MaySplit = C.MaySpill && Record.Generation < MostGenerations;
  findRegisters(C);
  return C;
}

void FunctionAllocator::findRegisters(RangeChoices &C) {
  const Register Reg = C.Range.reg();
  const ArrayRef<MCPhysReg> Order = F.Classes.getOrder(F.MRI.getRegClass(Reg));
  SmallVector<MCPhysReg, 16> Hints;
  const bool OnlyHints =
      F.TRI.getRegAllocationHints(Reg, Order, Hints, F.MF, &F.VRM, &F.Matrix);
  for (MCPhysReg Hint : Hints)
    if (is_contained(Order, Hint) &&
        none_of(C.Registers, [&](auto &R) { return R.Reg == Hint; }))
      C.Registers.push_back({Hint, false, true});
  if (!OnlyHints)
    for (MCPhysReg Other : Order)
      if (!is_contained(Hints, Other))
        C.Registers.push_back({Other});
  const bool Asked = Advice.asksAction() || Advice.asksColour();
  bool Free = false;
  for (RegisterChoice &R : C.Registers) {
    const auto Kind = F.Matrix.checkInterference(C.Range, R.Reg);
    R.IsFree = Kind == LiveRegMatrix::IK_Free;
    R.MayEvict = Kind == LiveRegMatrix::IK_VirtReg;
    Free |= R.IsFree;
    // The default takes the first one, if no other one was wanted.
    if (R.IsFree && !Asked && (R.IsHint || !C.Record.Wanted.isValid()))
      break;
  }
  if (Advice.readsEvictions())
    findEvictions(C, /*OnlyLighter=*/false);
  else if (Free)
    lookForEvictions(C);
  else if (Asked || C.MayWait || !C.MaySpill) // the default evicts
    findEvictions(C, /*OnlyLighter=*/!Asked && C.MayWait);
}

/// Finds all evictions, or those that the default may choose.
void FunctionAllocator::findEvictions(RangeChoices &C, bool OnlyLighter) {
  for (RegisterChoice &R : C.Registers)
    if (std::exchange(R.MayEvict, false))
      R.Eviction = Takeover.cost(C.Range, R.Reg, OnlyLighter);
}

/// While a register is free, the default evicts only for a hint; who decides
/// otherwise needs to know whether there is another eviction.
void FunctionAllocator::lookForEvictions(RangeChoices &C) {
  bool Found = !Advice.asksAction();
  for (RegisterChoice &R : C.Registers) {
    if (!R.MayEvict || (Found && !R.IsHint))
      continue;
    R.MayEvict = false;
    R.Eviction = Takeover.cost(C.Range, R.Reg, /*OnlyLighter=*/false);
    Found |= R.Eviction.has_value();
  }
}

void FunctionAllocator::findBlocks(RangeChoices &C,
                                   std::optional<LiveBlocks> &Live) {
  if (Live)
    return;
  if (!Blocks)
    Blocks.emplace(F, Tools.Bundles);
  Live.emplace(F, *Blocks, C.Range);
  C.Live = &*Live;
}

static SmallVector<MCRegister, 32> registersOf(const RangeChoices &C) {
  SmallVector<MCRegister, 32> Registers;
  for (const RegisterChoice &R : C.Registers)
    Registers.push_back(R.Reg);
  return Registers;
}

void FunctionAllocator::findRegions(RangeChoices &C,
                                    std::optional<LiveBlocks> &Live,
                                    bool OnlyBest) {
  if (C.MaySplit || Advice.readsSpillCost())
    findBlocks(C, Live);
  if (!C.MaySplit)
    return;
  C.Regions = RegionFinder(F, *Live, OnlyBest).find(registersOf(C));
  C.HasRegions = !C.Regions.empty();
  if (OnlyBest && !C.HasRegions && Advice.asksAction())
    lookForRegions(C, Live);
}

/// As findRegions(), but only finds out whether there are regions.
void FunctionAllocator::lookForRegions(RangeChoices &C,
                                       std::optional<LiveBlocks> &Live) {
  if (C.MaySplit || Advice.readsSpillCost())
    findBlocks(C, Live);
  if (C.MaySplit)
    C.HasRegions =
        RegionFinder(F, *Live, /*OnlyBest=*/false).any(registersOf(C));
}

//===-- The steps ---------------------------------------------------------===//

void FunctionAllocator::assign(const LiveInterval &LI, MCRegister Reg) {
  F.Matrix.assign(LI, Reg);
  F.changed(LI.reg());
}

void FunctionAllocator::evict(const LiveInterval &LI, MCRegister Reg) {
  NewRegisters Evicted;
  Takeover.evict(LI, Reg, Evicted);
  assign(LI, Reg);
  queue(Evicted);
}

void FunctionAllocator::split(const RangeChoices &C, const SplitRegion &R) {
  const Register Old = C.Range.reg();
  NewRegisters New;
  LiveRangeEdit Edit(&C.Range, New, const_cast<MachineFunction &>(F.MF), F.LIS,
                     &F.VRM, this, &DeadInstructions);
  const Register Inside = splitAt(R, *C.Live, F, Edit);
  Edit.calculateRegClassAndHint(const_cast<MachineFunction &>(F.MF),
                                Tools.Weights);
  const unsigned Generation = Records[Old].Generation + 1;
  for (Register Reg : Edit) {
    Records[Reg] = RangeRecord();
    Records[Reg].Generation = Generation;
  }
  Records[Inside].Wanted = R.Free;
  Tools.Debug.splitRegister(Old, Edit.regs(), F.LIS);
  F.changed(Old);
  queue(Edit.regs());
}

void FunctionAllocator::spill(const LiveInterval &LI) {
  NewRegisters New;
  LiveRangeEdit Edit(&LI, New, const_cast<MachineFunction &>(F.MF), F.LIS,
                     &F.VRM, this, &DeadInstructions);
  F.changed(LI.reg());
  Tools.Spiller.spill(Edit);
  for (Register Reg : Edit)
    Records[Reg].Done = true;
  for (Register Reg : Tools.Spiller.getSpilledRegs())
    Tools.Debug.splitRegister(Reg, Edit.regs(), F.LIS);
  for (Register Reg : Tools.Spiller.getReplacedRegs())
    Tools.Debug.splitRegister(Reg, Edit.regs(), F.LIS);
  queue(Edit.regs());
}

/// Lets ranges wait. An edit may leave some without uses.
void FunctionAllocator::queue(ArrayRef<Register> New) {
  for (Register Reg : New) {
    F.changed(Reg);
    if (!F.LIS.hasInterval(Reg))
      continue;
    if (F.MRI.reg_nodbg_empty(Reg))
      F.LIS.removeInterval(Reg);
    else
      Waiting.add(Reg);
  }
}

} // namespace passpilot
