// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "live_blocks.h"

#include "../llvm/live_range.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/CodeGen/EdgeBundles.h"
#include "llvm/CodeGen/LiveIntervals.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/CodeGen/VirtRegMap.h"

#include <algorithm>

using namespace llvm;

namespace passpilot {

LiveBlocks::LiveBlocks(const FunctionAllocation &F, const EdgeBundles &Bundles,
                       const LiveInterval &LI)
    : Range(LI), F(F) {
  if (LI.hasSubRanges() || LI.empty())
    Splittable = false;
  findBlocks();
  findJunctions(Bundles);
  findAccesses();
  for (LiveBlock &B : All) {
    for (const RangeAccess &A : B.Accesses)
      B.Work += A.cost() * B.Frequency;
    Work += B.Work;
  }
  Splittable = Splittable && entersEverywhere();
}

unsigned LiveBlocks::indexOf(const MachineBasicBlock *Block) const {
  return Indices.lookup(Block);
}

bool LiveBlocks::contains(const MachineBasicBlock *Block) const {
  return Indices.contains(Block);
}

static bool isPinned(const MachineBasicBlock &Block) {
  return any_of(Block.successors(), [](const MachineBasicBlock *S) {
    return S->isEHPad() || S->isInlineAsmBrIndirectTarget();
  });
}

void LiveBlocks::findBlocks() {
  for (const LiveRange::Segment &S : Range)
    for (const MachineBasicBlock *B = F.LIS.getMBBFromIndex(S.start); B;
         B = B->getNextNode()) {
      if (Indices.try_emplace(B, size()).second)
        All.push_back({B, frequency(F, *B), F.LIS.isLiveInToMBB(Range, B),
                       F.LIS.isLiveOutOfMBB(Range, B), isPinned(*B)});
      const SlotIndex From = std::max(S.start, F.LIS.getMBBStartIdx(B));
      const SlotIndex Until = std::min(S.end, F.LIS.getMBBEndIdx(B));
      All[indexOf(B)].Length += From.distance(Until);
      Length += From.distance(Until);
      if (S.end == Until)
        break;
    }
}

void LiveBlocks::findJunctions(const EdgeBundles &Bundles) {
  DenseMap<unsigned, unsigned> Numbers;
  auto At = [&](const LiveBlock &B, bool End) {
    const unsigned Bundle = Bundles.getBundle(B.Block->getNumber(), End);
    const auto Found = Numbers.try_emplace(Bundle, Junctions);
    Junctions += Found.second;
    return Found.first->second;
  };
  for (LiveBlock &B : All) {
    B.LoopDepth = loopDepth(F, *B.Block);
    if (B.In)
      B.Before = At(B, false);
    if (B.Out)
      B.After = At(B, true);
  }
}

/// Whether \p I copies one part of a split range to another.
static bool isSplitCopy(const FunctionAllocation &F, const MachineInstr &I) {
  if (!I.isFullCopy())
    return false;
  const Register To = I.getOperand(0).getReg(), From = I.getOperand(1).getReg();
  return To.isVirtual() && From.isVirtual() &&
         F.VRM.getOriginal(To) == F.VRM.getOriginal(From);
}

void LiveBlocks::findAccesses() {
  const Register Reg = Range.reg();
  for (const MachineInstr &I : F.MRI.reg_nodbg_instructions(Reg)) {
    const auto [Reads, Writes] = I.readsWritesVirtualRegister(Reg);
    if (I.isBundled() || (I.isTerminator() && Writes))
      Splittable = false;
    const auto Found = Indices.find(I.getParent());
    if (Found == Indices.end()) {
      Splittable &= !Reads && !Writes; // or all uses are undefined
      continue;
    }
    LiveBlock &B = All[Found->second];
    B.Defines |= Writes;
    B.Accesses.push_back(
        {&I, F.LIS.getInstructionIndex(I), Reads, Writes, isSplitCopy(F, I)});
  }
  for (LiveBlock &B : All)
    sort(B.Accesses, [](const RangeAccess &X, const RangeAccess &Y) {
      return X.Index < Y.Index;
    });
}

/// Whether the range is live at the end of all predecessors wherever it is live
/// at a block's begin, so that both parts of a split have a value there.
bool LiveBlocks::entersEverywhere() const {
  return all_of(All, [&](const LiveBlock &B) {
    return !B.In ||
           (!B.Block->pred_empty() &&
            all_of(B.Block->predecessors(), [&](const MachineBasicBlock *P) {
              const auto Found = Indices.find(P);
              return Found != Indices.end() && All[Found->second].Out;
            }));
  });
}

} // namespace passpilot
