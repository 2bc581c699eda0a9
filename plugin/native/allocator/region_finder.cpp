// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "region_finder.h"

#include "../llvm/allocator_points.h"
#include "region_bound.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/CodeGen/MachineLoopInfo.h"

#include <algorithm>

using namespace llvm;

namespace passpilot {

/// How many blocks are considered as regions, and for gaps.
static constexpr size_t HotBlocks = 4;
/// How many registers are considered: those whose regions can gain most.
static constexpr size_t MostRegisters = 4;
/// The chance that a region without a free register gets one, if its accesses
/// are so much denser than the whole range's that others give way.
static constexpr double Chance = 0.5, Denser = 1.25;
/// Sums of the same numbers in another order may differ by less.
static constexpr double Rounding = 1 + 1e-9;
/// LLVM adds this to the length of a range when it computes its spill weight.
static constexpr int ShortRange = 25 * SlotIndex::InstrDist;

double promise(const SplitRegion &R, const LiveBlocks &Live) {
  if (R.Free.isValid())
    return R.gain();
  const double Before = Live.Work / (Live.Length + ShortRange);
  const double After = R.Work / (R.Length + ShortRange);
  return After < Before * Denser ? -R.CopyCost : R.Work * Chance - R.CopyCost;
}

std::vector<SplitRegion> RegionFinder::find(ArrayRef<MCRegister> Registers) {
  if (!Live.Splittable)
    return {};
  Live.findFlow();
  const std::vector<unsigned> Hot = hottest();
  addLoops();
  addBlocks(Hot);
  if (Live.All.size() > 1)
    addRegisters(Registers);
  for (unsigned Index : Hot) {
    addHalves(Index);
    for (MCRegister Reg : Registers)
      addGap(Index, Reg);
  }
  stable_sort(Found, [&](const SplitRegion &A, const SplitRegion &B) {
    return promise(A, Live) > promise(B, Live);
  });
  if (Found.size() > AllocatorColumns)
    Found.resize(AllocatorColumns);
  return std::move(Found);
}

bool RegionFinder::any(ArrayRef<MCRegister> Registers) {
  if (!Live.Splittable)
    return false;
  const std::vector<unsigned> Hot = hottest();
  for (unsigned Index : Hot)
    addHalves(Index);
  if (!Found.empty())
    return true;
  Live.findFlow();
  addBlocks(Hot);
  if (Found.empty())
    addLoops();
  return !Found.empty() || !find(Registers).empty();
}

RegionBorder &RegionFinder::border() {
  return Border ? *Border : Border.emplace(Live);
}

const BusyBlocks &RegionFinder::busy() {
  return Busy ? *Busy : Busy.emplace(F, Live);
}

void RegionFinder::add(SplitRegion R) {
  Best = std::max(Best, promise(R, Live));
  Found.push_back(std::move(R));
}

std::vector<unsigned> RegionFinder::hottest() const {
  std::vector<std::pair<double, unsigned>> Order;
  for (unsigned I = 0; I < Live.size(); ++I)
    if (const double Work = Live.All[I].Work; Work > 0)
      Order.emplace_back(-Work, I);
  sort(Order);
  std::vector<unsigned> Hot;
  for (const auto &[Work, I] : ArrayRef(Order).take_front(HotBlocks))
    Hot.push_back(I);
  return Hot;
}

void RegionFinder::addLoops() {
  SmallSetVector<MachineLoop *, 8> Loops;
  for (const LiveBlock &B : Live.All)
    if (!B.Accesses.empty())
      for (MachineLoop *L = F.Loops->getLoopFor(B.Block); L;
           L = L->getParentLoop())
        Loops.insert(L);
  for (const MachineLoop *L : Loops) {
    SplitRegion R;
    R.Kind = RegionKind::Loop;
    R.Blocks.resize(Live.size());
    for (const MachineBasicBlock *B : L->getBlocks())
      if (Live.contains(B))
        R.Blocks.set(Live.indexOf(B));
    if (border().close(R))
      add(std::move(R));
  }
}

void RegionFinder::addBlocks(ArrayRef<unsigned> Hot) {
  for (unsigned I : Hot) {
    SplitRegion R;
    R.Kind = RegionKind::Block;
    R.Blocks.resize(Live.size());
    R.Blocks.set(I);
    if (Live.All[I].Accesses.size() > 1 && border().close(R))
      add(std::move(R));
  }
}

/// Takes out the blocks that cost more copies than they save.
void RegionFinder::shrink(SplitRegion &R, const TakenBlocks &Taken) {
  std::vector<double> Cost(Live.size());
  for (const RegionCopy &C : R.Copies) {
    const unsigned I = Live.indexOf(C.Block);
    Cost[I] += (C.Enters ? ReadCost : WriteCost) * Live.All[I].Frequency;
  }
  BitVector Smaller = R.Blocks;
  for (unsigned I : R.Blocks.set_bits())
    if (Cost[I] > 0 && Live.All[I].Work <= Cost[I])
      Smaller.reset(I);
  if (Smaller == R.Blocks)
    return;
  SplitRegion Less = R;
  Less.Blocks = std::move(Smaller);
  if (border().close(Less, &Taken) && Less.gain() > R.gain())
    R = std::move(Less);
}

/// Adds the regions of the registers that can gain most, in the order of the
/// registers; where only the best counts, those that may be it.
void RegionFinder::addRegisters(ArrayRef<MCRegister> Registers) {
  const RegionBound Bound(F, Live);
  std::vector<std::pair<double, size_t>> Order;
  for (const auto &[I, Reg] : enumerate(Registers))
    if (const double Most = Bound.most(Reg); Most > 0)
      Order.emplace_back(-Most, I);
  sort(Order);
  std::vector<std::pair<size_t, SplitRegion>> InOrder;
  for (const auto &[Most, I] : ArrayRef(Order).take_front(MostRegisters)) {
    if (OnlyBest && -Most * Rounding < Best)
      break;
    const size_t Before = Found.size();
    addRegister(Registers[I]);
    if (Found.size() > Before) {
      InOrder.emplace_back(I, std::move(Found.back()));
      Found.pop_back();
    }
  }
  sort(InOrder, [](auto &A, auto &B) { return A.first < B.first; });
  for (auto &[I, R] : InOrder)
    Found.push_back(std::move(R));
}

void RegionFinder::addRegister(MCRegister Reg) {
  SplitRegion R;
  R.Kind = RegionKind::Register;
  R.Free = Reg;
  const TakenBlocks Taken = busy().of(Reg);
  if (!Growth)
    Growth.emplace(Live);
  R.Blocks = Growth->grow(Taken.Anywhere);
  if (!border().close(R, &Taken))
    return;
  shrink(R, Taken);
  add(std::move(R));
}

/// The accesses of a block between which \p Reg is free; those with the largest
/// gain.
void RegionFinder::addGap(unsigned Index, MCRegister Reg) {
  const LiveBlock &B = Live.All[Index];
  if (B.Accesses.size() < 2 || (OnlyBest && B.Work <= Best))
    return;
  const auto Taken = busy().within(Index, Reg);
  auto EndOf = [&](const RangeAccess &A) {
    const bool Stays = Live.Range.Query(A.Index).valueOut() != nullptr;
    return Stays ? A.Index.getDeadSlot() : A.Index.getRegSlot();
  };
  auto StartOf = [&](const RangeAccess &A) {
    const bool Enters = Live.Range.Query(A.Index).valueIn() != nullptr;
    return Enters ? A.Index.getBaseIndex() : A.Index.getRegSlot();
  };
  auto Next = Taken.begin(); // the first one that ends later
  SplitRegion Largest;
  for (size_t First = 0, Last = 0; First < B.Accesses.size(); First = Last) {
    const SlotIndex From = StartOf(B.Accesses[First]);
    while (Next != Taken.end() && Next->second <= From)
      ++Next;
    Last = First;
    while (Last < B.Accesses.size() &&
           (Next == Taken.end() || EndOf(B.Accesses[Last]) <= Next->first))
      ++Last;
    if (Last == First) {
      ++Last;
      continue;
    }
    SplitRegion R;
    R.Free = Reg;
    if (Last - First > 1 && closeGap(R, Live, Index, First, Last - 1) &&
        (Largest.Instructions == 0 || R.gain() > Largest.gain()))
      Largest = std::move(R);
  }
  if (Largest.Instructions)
    add(std::move(Largest));
}

/// The accesses before the largest gap between two of them, and those after it.
void RegionFinder::addHalves(unsigned Index) {
  const auto &Accesses = Live.All[Index].Accesses;
  size_t Widest = 0;
  int Most = -1;
  for (size_t I = 1; I < Accesses.size(); ++I)
    if (const int Distance = Accesses[I - 1].Index.distance(Accesses[I].Index);
        Distance > Most) {
      Most = Distance;
      Widest = I;
    }
  if (!Widest)
    return;
  for (const auto &[First, Last] : {std::pair(size_t(0), Widest - 1),
                                    std::pair(Widest, Accesses.size() - 1)}) {
    SplitRegion R;
    if (closeGap(R, Live, Index, First, Last))
      add(std::move(R));
  }
}

} // namespace passpilot
