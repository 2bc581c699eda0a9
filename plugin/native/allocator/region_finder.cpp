// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "region_finder.h"

#include "../llvm/allocator_points.h"
#include "region_border.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/CodeGen/MachineLoopInfo.h"

#include <algorithm>

using namespace llvm;

namespace passpilot {

/// How many blocks are considered as regions, and for gaps.
static constexpr size_t HotBlocks = 4;
/// How often the neighbours of a place are weighed against each other.
static constexpr unsigned Rounds = 12;
/// The chance that a region without a free register gets one, if its accesses
/// are so much denser than the whole range's that others give way.
static constexpr double Chance = 0.5, Denser = 1.25;
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
  const std::vector<unsigned> Hot = hottest();
  addLoops();
  addBlocks(Hot);
  if (Live.All.size() > 1)
    for (MCRegister Reg : Registers)
      addRegister(Reg);
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
    for (unsigned I = 0; I < Live.size(); ++I)
      if (L->contains(Live.All[I].Block))
        R.Blocks.set(I);
    if (closeBlocks(R, Live))
      Found.push_back(std::move(R));
  }
}

void RegionFinder::addBlocks(ArrayRef<unsigned> Hot) {
  for (unsigned I : Hot) {
    SplitRegion R;
    R.Kind = RegionKind::Block;
    R.Blocks.resize(Live.size());
    R.Blocks.set(I);
    if (Live.All[I].Accesses.size() > 1 && closeBlocks(R, Live))
      Found.push_back(std::move(R));
  }
}

namespace {

/// A place where control flow joins or forks: whether the value should be in
/// the region's register there.
struct Leaning {
  double Bias = 0;
  SmallVector<std::pair<unsigned, double>, 4> Neighbours = {};
  int Sign = 0;
};

/// Weighs all places against their neighbours, as LLVM's spill placement does.
void settle(MutableArrayRef<Leaning> Places) {
  bool Changed = true;
  for (unsigned Round = 0; Changed && Round < Rounds; ++Round) {
    Changed = false;
    for (Leaning &P : Places) {
      double Sum = P.Bias;
      for (const auto &[Other, Weight] : P.Neighbours)
        Sum += Weight * Places[Other].Sign;
      const int Sign = Sum > 0 ? 1 : Sum < 0 ? -1 : 0;
      Changed |= Sign != P.Sign;
      P.Sign = Sign;
    }
  }
}

} // namespace

/// The blocks outside \p Taken that should be in a region: those with accesses,
/// and those between them where it is cheaper to stay in the register.
BitVector RegionFinder::grow(const BitVector &Taken) const {
  std::vector<Leaning> Places(Live.Junctions);
  for (unsigned I = 0; I < Live.size(); ++I) {
    const LiveBlock &B = Live.All[I];
    const double Lean = Taken[I] ? -B.Frequency : B.Frequency;
    const bool Through = !Taken[I] && B.Accesses.empty() && B.In && B.Out;
    if (Through && B.Before != B.After) {
      Places[B.Before].Neighbours.emplace_back(B.After, B.Frequency);
      Places[B.After].Neighbours.emplace_back(B.Before, B.Frequency);
    } else if (!Through) {
      if (B.In)
        Places[B.Before].Bias += Lean;
      if (B.Out)
        Places[B.After].Bias += Lean;
    }
  }
  settle(Places);
  BitVector Region(Live.size());
  for (unsigned I = 0; I < Live.size(); ++I) {
    const LiveBlock &B = Live.All[I];
    const bool Stays =
        B.In && B.Out && Places[B.Before].Sign > 0 && Places[B.After].Sign > 0;
    if (!Taken[I] && (!B.Accesses.empty() || Stays))
      Region.set(I);
  }
  return Region;
}

/// Takes out the blocks that cost more copies than they save.
void RegionFinder::shrink(SplitRegion &R, const TakenBlocks &Taken) const {
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
  if (closeBlocks(Less, Live, &Taken) && Less.gain() > R.gain())
    R = std::move(Less);
}

void RegionFinder::addRegister(MCRegister Reg) {
  SplitRegion R;
  R.Kind = RegionKind::Register;
  R.Free = Reg;
  const TakenBlocks Taken = Busy.of(Reg);
  if (OnlyBest && mostWork(Taken.Anywhere) <= Best)
    return;
  R.Blocks = grow(Taken.Anywhere);
  if (!closeBlocks(R, Live, &Taken))
    return;
  shrink(R, Taken);
  Best = std::max(Best, R.gain());
  Found.push_back(std::move(R));
}

/// What the blocks outside \p Taken could save at most.
double RegionFinder::mostWork(const BitVector &Taken) const {
  double Sum = 0;
  for (unsigned I = 0; I < Live.size(); ++I)
    if (!Taken[I])
      Sum += Live.All[I].Work;
  return Sum;
}

/// The accesses of a block between which \p Reg is free; those with the largest
/// gain.
void RegionFinder::addGap(unsigned Index, MCRegister Reg) {
  const LiveBlock &B = Live.All[Index];
  if (B.Accesses.size() < 2 || (OnlyBest && B.Work <= Best))
    return;
  const auto Taken = Busy.within(Index, Reg);
  auto EndOf = [&](const RangeAccess &A) {
    const bool Stays = Live.Range.Query(A.Index).valueOut() != nullptr;
    return Stays ? A.Index.getDeadSlot() : A.Index.getRegSlot();
  };
  auto StartOf = [&](const RangeAccess &A) {
    const bool Enters = Live.Range.Query(A.Index).valueIn() != nullptr;
    return Enters ? A.Index.getBaseIndex() : A.Index.getRegSlot();
  };
  auto IsFree = [&](SlotIndex From, SlotIndex Until) {
    return none_of(Taken, [&](const auto &Segment) {
      return Segment.first < Until && From < Segment.second;
    });
  };
  SplitRegion Largest;
  for (size_t First = 0, Last = 0; First < B.Accesses.size(); First = Last) {
    const SlotIndex From = StartOf(B.Accesses[First]);
    Last = First;
    while (Last < B.Accesses.size() && IsFree(From, EndOf(B.Accesses[Last])))
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
    Found.push_back(std::move(Largest));
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
      Found.push_back(std::move(R));
  }
}

} // namespace passpilot
