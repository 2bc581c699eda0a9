// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "busy_blocks.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/CodeGen/LiveIntervalUnion.h"
#include "llvm/CodeGen/LiveIntervals.h"
#include "llvm/CodeGen/LiveRegMatrix.h"
#include "llvm/CodeGen/MachineBasicBlock.h"
#include "llvm/CodeGen/MachineOperand.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"

#include <algorithm>

using namespace llvm;

namespace passpilot {

BusyBlocks::BusyBlocks(const FunctionAllocation &F, const LiveBlocks &Live)
    : F(F), Live(Live) {
  for (unsigned I = 0; I < Live.size(); ++I) {
    const MachineBasicBlock &B = *Live.All[I].Block;
    const auto Terminator = B.getFirstTerminator();
    Ends.push_back(Terminator == B.end()
                       ? F.LIS.getMBBEndIdx(&B).getPrevSlot()
                       : F.LIS.getInstructionIndex(*Terminator));
    const int Number = Live.All[I].Block->getNumber();
    const ArrayRef<SlotIndex> Slots = F.LIS.getRegMaskSlotsInBlock(Number);
    const auto Masks = F.LIS.getRegMaskBitsInBlock(Number);
    for (size_t C = 0; C < Slots.size(); ++C)
      if (Live.Range.liveAt(Slots[C]))
        Calls.push_back({Slots[C], Masks[C], I});
  }
}

using OnOverlap = function_ref<void(SlotIndex From, SlotIndex Until)>;

/// Calls \p Found with the parts that two live ranges have in common.
static void overlaps(const LiveRange &A, const LiveRange &B, OnOverlap Found) {
  if (A.size() > B.size())
    return overlaps(B, A, Found);
  for (const LiveRange::Segment &S : A)
    for (auto O = B.find(S.start); O != B.end() && O->start < S.end; ++O)
      Found(std::max(S.start, O->start), std::min(S.end, O->end));
}

/// As overlaps(), for all ranges that are assigned to one register unit.
static void overlaps(const LiveRange &A, const LiveIntervalUnion &Assigned,
                     OnOverlap Found) {
  auto O = Assigned.begin();
  for (const LiveRange::Segment &S : A)
    for (O.advanceTo(S.start); O.valid() && O.start() < S.end; ++O) {
      Found(std::max(S.start, O.start()), std::min(S.end, O.stop()));
      if (O.stop() > S.end)
        break; // it may overlap the next segment, too
    }
}

/// Calls \p Found with the parts of \p A in which \p Reg is taken, apart from
/// calls.
static void overlaps(const FunctionAllocation &F, const LiveRange &A,
                     MCRegister Reg, OnOverlap Found) {
  const LiveIntervalUnion *Unions = F.Matrix.getLiveUnions();
  for (MCRegUnit Unit : F.TRI.regunits(Reg)) {
    overlaps(A, Unions[static_cast<unsigned>(Unit)], Found);
    overlaps(A, F.LIS.getRegUnit(Unit), Found);
  }
}

/// Marks the blocks from \p From to \p Until as taken.
void BusyBlocks::mark(TakenBlocks &T, SlotIndex From, SlotIndex Until) const {
  for (const MachineBasicBlock *B = F.LIS.getMBBFromIndex(From); B;
       B = B->getNextNode()) {
    const unsigned I = Live.indexOf(B);
    T.Anywhere.set(I);
    if (From <= F.LIS.getMBBStartIdx(B))
      T.AtStart.set(I);
    if (Until > Ends[I])
      T.AtEnd.set(I);
    if (Until <= F.LIS.getMBBEndIdx(B))
      break;
  }
}

TakenBlocks BusyBlocks::of(MCRegister Reg) const {
  TakenBlocks T(Live.size());
  auto Mark = [&](SlotIndex From, SlotIndex Until) { mark(T, From, Until); };
  overlaps(F, Live.Range, Reg, Mark);
  for (const Call &C : Calls)
    if (MachineOperand::clobbersPhysReg(C.Preserved, Reg))
      Mark(C.At, C.At.getDeadSlot());
  return T;
}

std::vector<std::pair<SlotIndex, SlotIndex>>
BusyBlocks::within(unsigned Index, MCRegister Reg) const {
  const MachineBasicBlock *B = Live.All[Index].Block;
  const SlotIndex Begin = F.LIS.getMBBStartIdx(B), End = F.LIS.getMBBEndIdx(B);
  std::vector<std::pair<SlotIndex, SlotIndex>> Taken;
  VNInfo Value(0, Begin);
  LiveRange Whole;
  Whole.addSegment({Begin, End, &Value});
  overlaps(F, Whole, Reg, [&](SlotIndex From, SlotIndex Until) {
    Taken.emplace_back(From, Until);
  });
  for (const Call &C : Calls)
    if (C.Block == Index && MachineOperand::clobbersPhysReg(C.Preserved, Reg))
      Taken.emplace_back(C.At, C.At.getDeadSlot());
  std::sort(Taken.begin(), Taken.end());
  return Taken;
}

} // namespace passpilot
