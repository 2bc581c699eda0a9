// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "region_bound.h"

#include "llvm/CodeGen/LiveIntervalUnion.h"
#include "llvm/CodeGen/LiveIntervals.h"
#include "llvm/CodeGen/LiveRegMatrix.h"
#include "llvm/CodeGen/MachineOperand.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"

#include <algorithm>

using namespace llvm;

namespace passpilot {

/// Where more blocks meet, copies count as free.
static constexpr size_t MostMeeting = 8;

RegionBound::RegionBound(const FunctionAllocation &F, const LiveBlocks &Live)
    : F(F), Live(Live), Numbers(Live.Junctions, -1) {
  for (unsigned I = 0; I < Live.size(); ++I)
    if (Live.All[I].Work > 0)
      Accessing.push_back(I);
  findJunctions();
  findPieces();
}

/// Finds the junctions at the begins of blocks with accesses.
void RegionBound::findJunctions() {
  for (unsigned I : Accessing) {
    const BlockFlow &B = Live.Flow[I];
    if (!B.In)
      continue;
    int &Number = Numbers[B.Before];
    if (Number < 0) {
      Number = static_cast<int>(Junctions.size());
      Junctions.emplace_back();
    }
    ++Junctions[static_cast<size_t>(Number)].Accessing;
  }
  for (unsigned I = 0; I < Live.size(); ++I)
    if (const BlockFlow &B = Live.Flow[I]; B.Out && Numbers[B.After] >= 0)
      Junctions[static_cast<size_t>(Numbers[B.After])].From.push_back(I);
}

void RegionBound::findPieces() {
  BitVector Matters(Live.size());
  for (unsigned I : Accessing)
    Matters.set(I);
  for (const Junction &J : Junctions)
    if (J.From.size() <= MostMeeting)
      for (unsigned I : J.From)
        Matters.set(I);
  for (unsigned I : Matters.set_bits()) {
    const MachineBasicBlock *B = Live.All[I].Block;
    const SlotIndex Begin = F.LIS.getMBBStartIdx(B);
    const SlotIndex End = F.LIS.getMBBEndIdx(B);
    for (auto S = Live.Range.find(Begin);
         S != Live.Range.end() && S->start < End; ++S)
      Pieces.push_back({std::max(S->start, Begin), std::min(S->end, End), I});
  }
}

void RegionBound::markTaken(BitVector &Taken, MCRegister Reg) const {
  const LiveIntervalUnion *Unions = F.Matrix.getLiveUnions();
  for (MCRegUnit Unit : F.TRI.regunits(Reg)) {
    auto Assigned = Unions[static_cast<unsigned>(Unit)].begin();
    const LiveRange &Fixed = F.LIS.getRegUnit(Unit);
    for (const Piece &P : Pieces) {
      if (Taken[P.Block])
        continue;
      Assigned.advanceTo(P.From);
      if ((Assigned.valid() && Assigned.start() < P.Until) ||
          (!Fixed.empty() && Fixed.overlaps(P.From, P.Until)))
        Taken.set(P.Block);
    }
  }
  for (const Piece &P : Pieces) {
    const int Number = Live.All[P.Block].Block->getNumber();
    const auto Slots = F.LIS.getRegMaskSlotsInBlock(Number);
    const auto Masks = F.LIS.getRegMaskBitsInBlock(Number);
    for (size_t I = 0; I < Slots.size() && !Taken[P.Block]; ++I)
      if (P.From <= Slots[I] && Slots[I] < P.Until &&
          MachineOperand::clobbersPhysReg(Masks[I], Reg))
        Taken.set(P.Block);
  }
}

/// The least that copies into \p B cost: one at its begin, or, shared with the
/// other blocks with accesses there, those at the ends of all blocks before it
/// that are outside because the register is taken.
double RegionBound::copyCost(const BlockFlow &B, const BitVector &Taken) const {
  if (!B.In)
    return 0;
  const Junction &J = Junctions[static_cast<size_t>(Numbers[B.Before])];
  if (J.From.size() > MostMeeting)
    return 0;
  double Before = 0;
  for (unsigned I : J.From)
    if (Taken[I])
      Before += Live.Flow[I].Frequency;
  return ReadCost * std::min(B.Frequency, Before) / J.Accessing;
}

double RegionBound::most(MCRegister Reg) const {
  BitVector Taken(Live.size());
  markTaken(Taken, Reg);
  double Sum = 0;
  for (unsigned I : Accessing)
    if (!Taken[I])
      Sum += std::max(0.0, Live.All[I].Work - copyCost(Live.Flow[I], Taken));
  return Sum;
}

} // namespace passpilot
