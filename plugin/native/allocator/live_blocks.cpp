// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "live_blocks.h"

#include "../llvm/live_range.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/CodeGen/EdgeBundles.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/CodeGen/VirtRegMap.h"

#include <algorithm>

using namespace llvm;

namespace passpilot {

static bool isPinned(const MachineBasicBlock &Block) {
  return any_of(Block.successors(), [](const MachineBasicBlock *S) {
    return S->isEHPad() || S->isInlineAsmBrIndirectTarget();
  });
}

FunctionBlocks::FunctionBlocks(const FunctionAllocation &F,
                               const EdgeBundles &Bundles)
    : BlockNumbers(F.MF.getNumBlockIDs()),
      JunctionNumbers(Bundles.getNumBundles()), Facts(F.MF.getNumBlockIDs()) {
  for (const MachineBasicBlock &B : F.MF) {
    BlockFacts &Its = Facts[static_cast<size_t>(B.getNumber())];
    Its.Frequency = frequency(F, B);
    Its.LoopDepth = loopDepth(F, B);
    Its.Before = Bundles.getBundle(B.getNumber(), false);
    Its.After = Bundles.getBundle(B.getNumber(), true);
    Its.Pinned = isPinned(B);
    if (const auto First = B.getFirstTerminator(); First != B.end())
      Its.Terminator = F.LIS.getInstructionIndex(*First);
  }
}

LiveBlocks::LiveBlocks(const FunctionAllocation &F, FunctionBlocks &Blocks,
                       const LiveInterval &LI)
    : Range(LI), F(F), Blocks(Blocks) {
  if (LI.hasSubRanges() || LI.empty())
    Splittable = false;
  findBlocks();
  findAccesses();
  for (LiveBlock &B : All) {
    for (const RangeAccess &A : B.Accesses)
      B.Work += A.cost() * B.Frequency;
    Work += B.Work;
  }
  Splittable = Splittable && entersEverywhere();
}

void LiveBlocks::findBlocksOf(const LiveInterval &Other,
                              BitVector &There) const {
  There.clear();
  There.resize(size());
  const auto *Next = Other.begin();
  for (unsigned I = 0; I < size(); ++I) {
    while (Next != Other.end() && position(F, Next->end) <= All[I].Begin)
      ++Next;
    if (Next == Other.end())
      return;
    if (position(F, Next->start) < All[I].End)
      There.set(I);
  }
}

void LiveBlocks::findFlow() {
  if (!Flow.empty())
    return;
  findJunctions();
  Flow.reserve(All.size());
  FirstsAt.resize(Junctions + 1);
  for (const LiveBlock &B : All) {
    Flow.push_back({B.Frequency, B.Work, B.Before, B.After,
                    static_cast<unsigned>(B.Accesses.size()), B.LoopDepth,
                    B.Length, B.In, B.Out, B.Pinned, B.Defines});
    if (B.In)
      ++FirstsAt[B.Before + 1];
    if (B.Out)
      ++FirstsAt[B.After + 1];
  }
  for (size_t I = 1; I < FirstsAt.size(); ++I)
    FirstsAt[I] += FirstsAt[I - 1];
  BlocksAt.resize(FirstsAt.back());
  std::vector<unsigned> Next(FirstsAt.begin(), FirstsAt.end() - 1);
  for (unsigned I = 0; I < Flow.size(); ++I) {
    if (Flow[I].In)
      BlocksAt[Next[Flow[I].Before]++] = I;
    if (Flow[I].Out)
      BlocksAt[Next[Flow[I].After]++] = I;
  }
}

/// The last block of All, which is \p Block: adds it unless it is there.
LiveBlock &LiveBlocks::at(const MachineBasicBlock &Block) {
  if (!All.empty() && All.back().Block == &Block)
    return All.back();
  Blocks.BlockNumbers[static_cast<size_t>(Block.getNumber())] = size();
  const BlockFacts &Facts = Blocks.of(Block);
  const int Begin = position(F, F.LIS.getMBBStartIdx(&Block));
  const int End = position(F, F.LIS.getMBBEndIdx(&Block));
  const SlotIndex Last = Facts.Terminator.isValid()
                             ? Facts.Terminator
                             : F.LIS.getMBBEndIdx(&Block).getPrevSlot();
  All.push_back({&Block, Facts.Frequency, Begin, End, position(F, Last), Last,
                 Facts.Pinned});
  All.back().LoopDepth = Facts.LoopDepth;
  return All.back();
}

void LiveBlocks::findBlocks() {
  for (const LiveRange::Segment &S : Range) {
    const int Start = position(F, S.start), Stop = position(F, S.end);
    for (const MachineBasicBlock *B = F.LIS.getMBBFromIndex(S.start); B;
         B = B->getNextNode()) {
      LiveBlock &Here = at(*B);
      Here.In |= Start <= Here.Begin;
      Here.Out |= Stop >= Here.End;
      Here.Length += std::min(Stop, Here.End) - std::max(Start, Here.Begin);
      if (Stop <= Here.End)
        break;
    }
  }
  for (const LiveBlock &B : All)
    Length += B.Length;
}

void LiveBlocks::findJunctions() {
  std::vector<unsigned> Known; // edge bundles
  auto Number = [&](unsigned Bundle) {
    unsigned &Its = Blocks.JunctionNumbers[Bundle];
    if (Its >= Known.size() || Known[Its] != Bundle) {
      Its = static_cast<unsigned>(Known.size());
      Known.push_back(Bundle);
    }
    return Its;
  };
  for (LiveBlock &B : All) {
    const BlockFacts &Facts = Blocks.of(*B.Block);
    if (B.In)
      B.Before = Number(Facts.Before);
    if (B.Out)
      B.After = Number(Facts.After);
  }
  Junctions = static_cast<unsigned>(Known.size());
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
    if (!contains(I.getParent())) {
      Splittable &= !Reads && !Writes; // or all uses are undefined
      continue;
    }
    LiveBlock &B = All[indexOf(I.getParent())];
    B.Defines |= Writes;
    B.Accesses.push_back(
        {&I, F.LIS.getInstructionIndex(I), Reads, Writes, isSplitCopy(F, I)});
  }
  // LLVM's list has an instruction once for its operands in a row.
  for (LiveBlock &B : All) {
    sort(B.Accesses, [](const RangeAccess &X, const RangeAccess &Y) {
      return X.Index < Y.Index;
    });
    B.Accesses.erase(
        llvm::unique(B.Accesses,
                     [](const RangeAccess &X, const RangeAccess &Y) {
                       return X.Index == Y.Index;
                     }),
        B.Accesses.end());
  }
}

/// Whether the range is live at the end of all predecessors wherever it is live
/// at a block's begin, so that both parts of a split have a value there.
bool LiveBlocks::entersEverywhere() const {
  return all_of(All, [&](const LiveBlock &B) {
    return !B.In ||
           (!B.Block->pred_empty() &&
            all_of(B.Block->predecessors(), [&](const MachineBasicBlock *P) {
              return contains(P) && All[indexOf(P)].Out;
            }));
  });
}

} // namespace passpilot
