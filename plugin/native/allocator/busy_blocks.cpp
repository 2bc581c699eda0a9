// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "busy_blocks.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/CodeGen/LiveIntervals.h"
#include "llvm/CodeGen/MachineBasicBlock.h"
#include "llvm/CodeGen/MachineOperand.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"

#include <algorithm>

using namespace llvm;

namespace passpilot {

BusyBlocks::BusyBlocks(const FunctionAllocation &F, const LiveBlocks &Live)
    : F(F), Live(Live) {
  for (unsigned I = 0; I < Live.size(); ++I) {
    const int Number = Live.All[I].Block->getNumber();
    const ArrayRef<SlotIndex> Slots = F.LIS.getRegMaskSlotsInBlock(Number);
    const auto Masks = F.LIS.getRegMaskBitsInBlock(Number);
    for (size_t C = 0; C < Slots.size(); ++C)
      if (Live.Range.liveAt(Slots[C]))
        Calls.push_back({Slots[C], Masks[C], I});
  }
}

/// Calls \p Found with the parts that \p Mine and \p Other have in common.
static void
overlaps(const LiveRange &Mine, const LiveRange &Other,
         function_ref<void(SlotIndex From, SlotIndex Until)> Found) {
  for (const LiveRange::Segment &S : Mine)
    for (auto O = Other.find(S.start); O != Other.end() && O->start < S.end;
         ++O)
      Found(std::max(S.start, O->start), std::min(S.end, O->end));
}

/// Calls \p Found with all that takes \p Reg, without calls.
static void takers(const FunctionAllocation &F, const LiveInterval &LI,
                   MCRegister Reg,
                   function_ref<void(const LiveRange &Other)> Found) {
  for (const Ranges &Unit : F.inTheWay(LI, Reg))
    for (const LiveInterval *Other : Unit)
      Found(*Other);
  for (MCRegUnit Unit : F.TRI.regunits(Reg))
    Found(F.LIS.getRegUnit(Unit));
}

BitVector BusyBlocks::of(MCRegister Reg) const {
  BitVector Busy(Live.size());
  auto Mark = [&](SlotIndex From, SlotIndex Until) {
    for (const MachineBasicBlock *B = F.LIS.getMBBFromIndex(From); B;
         B = B->getNextNode()) {
      Busy.set(Live.indexOf(B));
      if (Until <= F.LIS.getMBBEndIdx(B))
        break;
    }
  };
  takers(F, Live.Range, Reg,
         [&](const LiveRange &Other) { overlaps(Live.Range, Other, Mark); });
  for (const Call &C : Calls)
    if (MachineOperand::clobbersPhysReg(C.Preserved, Reg))
      Busy.set(C.Block);
  return Busy;
}

std::vector<std::pair<SlotIndex, SlotIndex>>
BusyBlocks::within(unsigned Index, MCRegister Reg) const {
  const MachineBasicBlock *B = Live.All[Index].Block;
  const SlotIndex Begin = F.LIS.getMBBStartIdx(B), End = F.LIS.getMBBEndIdx(B);
  std::vector<std::pair<SlotIndex, SlotIndex>> Taken;
  takers(F, Live.Range, Reg, [&](const LiveRange &Other) {
    for (auto O = Other.find(Begin); O != Other.end() && O->start < End; ++O)
      Taken.emplace_back(O->start, O->end);
  });
  for (const Call &C : Calls)
    if (C.Block == Index && MachineOperand::clobbersPhysReg(C.Preserved, Reg))
      Taken.emplace_back(C.At, C.At.getDeadSlot());
  std::sort(Taken.begin(), Taken.end());
  return Taken;
}

} // namespace passpilot
