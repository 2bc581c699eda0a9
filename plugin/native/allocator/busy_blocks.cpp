// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "busy_blocks.h"

#include "../llvm/live_range.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/CodeGen/LiveIntervalUnion.h"
#include "llvm/CodeGen/LiveRegMatrix.h"
#include "llvm/CodeGen/MachineBasicBlock.h"
#include "llvm/CodeGen/MachineOperand.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"

#include <algorithm>

using namespace llvm;

namespace passpilot {

BusyBlocks::BusyBlocks(const FunctionAllocation &F, const LiveBlocks &Live)
    : F(F), Live(Live) {
  Begins.reserve(Live.All.size());
  Ends.reserve(Live.All.size());
  for (unsigned I = 0; I < Live.size(); ++I) {
    const LiveBlock &B = Live.All[I];
    Begins.push_back(B.Begin);
    Ends.push_back({B.Last, B.LastSlot, F.LIS.getMBBEndIdx(B.Block)});
    findCalls(I);
  }
}

void BusyBlocks::findCalls(unsigned Index) {
  const LiveBlock &B = Live.All[Index];
  const int Number = B.Block->getNumber();
  const ArrayRef<SlotIndex> Slots = F.LIS.getRegMaskSlotsInBlock(Number);
  const auto Masks = F.LIS.getRegMaskBitsInBlock(Number);
  const bool Throughout = B.Length == B.End - B.Begin;
  for (size_t I = 0; I < Slots.size(); ++I)
    if (Throughout || Live.Range.liveAt(Slots[I]))
      Calls.push_back({Slots[I], Masks[I], Index,
                       position(F, Slots[I].getDeadSlot()) > B.Last});
}

/// Takes a part that two live ranges have in common; returns from where on
/// another one would matter.
using OnOverlap = function_ref<SlotIndex(SlotIndex From, SlotIndex Until)>;

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
  SlotIndex Next = A.beginIndex();
  for (const LiveRange::Segment &S : A) {
    Next = std::max(Next, S.start);
    if (Next >= S.end)
      continue;
    for (O.advanceTo(Next); O.valid() && O.start() < S.end; O.advanceTo(Next)) {
      Next = Found(std::max(Next, O.start()), std::min(S.end, O.stop()));
      if (Next >= S.end)
        break; // the range in O may overlap the next segment, too
    }
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

/// The last block that begins at \p At or before, from \p Near on.
size_t BusyBlocks::blockAt(int At, size_t Near) const {
  if (Begins[Near] > At)
    Near = 0;
  size_t Step = 1;
  for (; Near + Step < Begins.size() && Begins[Near + Step] <= At; Step *= 2)
    Near += Step;
  const auto From = Begins.begin() + static_cast<ptrdiff_t>(Near);
  const auto Until = Near + Step < Begins.size()
                         ? From + static_cast<ptrdiff_t>(Step)
                         : Begins.end();
  return static_cast<size_t>(std::upper_bound(From, Until, At) -
                             Begins.begin()) -
         1;
}

/// Marks the blocks from \p From to \p Until as taken; the range is live in all
/// of them. Returns the first slot where another overlap could change the last
/// block's bits. \p Near: a block from which to search; becomes the first one.
SlotIndex BusyBlocks::mark(TakenBlocks &T, SlotIndex From, SlotIndex Until,
                           size_t &Near) const {
  const int Start = position(F, From), Stop = position(F, Until);
  Near = blockAt(Start, Near);
  const auto I = static_cast<unsigned>(Near);
  const auto Last = static_cast<unsigned>(blockAt(Stop - 1, Near));
  T.Anywhere.set(I, Last + 1);
  T.AtStart.set(Start <= Begins[Near] ? I : I + 1, Last + 1);
  const BlockEnd &B = Ends[Last];
  const bool TakesEnd = Stop > B.Last;
  T.AtEnd.set(I, TakesEnd ? Last + 1 : Last);
  if (TakesEnd || T.AtEnd[Last])
    return B.End;
  return B.LastSlot;
}

TakenBlocks BusyBlocks::of(MCRegister Reg) const {
  TakenBlocks T(Live.size());
  size_t Near = 0;
  overlaps(F, Live.Range, Reg, [&](SlotIndex From, SlotIndex Until) {
    return mark(T, From, Until, Near);
  });
  for (const Call &C : Calls)
    if (MachineOperand::clobbersPhysReg(C.Preserved, Reg)) {
      T.Anywhere.set(C.Block);
      if (C.AtEnd)
        T.AtEnd.set(C.Block);
    }
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
    return Until;
  });
  auto Next = std::lower_bound(
      Calls.begin(), Calls.end(), Index,
      [](const Call &C, unsigned Block) { return C.Block < Block; });
  for (; Next != Calls.end() && Next->Block == Index; ++Next)
    if (MachineOperand::clobbersPhysReg(Next->Preserved, Reg))
      Taken.emplace_back(Next->At, Next->At.getDeadSlot());
  std::sort(Taken.begin(), Taken.end());
  return Taken;
}

} // namespace passpilot
