// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where control flow joins or forks, all blocks must agree whether the value is
// in the region's register or in the rest's: an edge bundle is such a place.
// The cheaper side wins, and the blocks of the other side get copies. If the
// region has no definition, the rest keeps its value alive through the region,
// so that no copy leaves it.

#include "region_border.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/CodeGen/LiveIntervals.h"
#include "llvm/CodeGen/MachineBasicBlock.h"

#include <algorithm>
#include <utility>

using namespace llvm;

namespace passpilot {

bool RegionBorder::close(SplitRegion &R, const TakenBlocks *Taken) {
  count(R);
  if (!R.Instructions || R.Blocks.all())
    return false;
  for (unsigned I : R.Blocks.set_bits())
    noteInside(Live.Flow[I], R.Defines);
  findNear(R.Blocks);
  for (unsigned I : Near.set_bits())
    if (!R.Blocks[I])
      noteOutside(I, R.Defines, Taken);
  const bool Possible =
      all_of(Touched, [&](unsigned J) { return Junctions[J].possible(); });
  if (Possible)
    for (unsigned I : Near.set_bits())
      addCopies(R, I);
  for (unsigned J : Touched)
    Junctions[J] = {};
  Touched.clear();
  return Possible;
}

/// What the region's blocks do, and no copies yet.
void RegionBorder::count(SplitRegion &R) const {
  R.Copies.clear();
  R.Work = R.CopyCost = 0;
  R.Instructions = R.LoopDepth = 0;
  R.Length = 0;
  R.Defines = false;
  for (unsigned I : R.Blocks.set_bits()) {
    const BlockFlow &B = Live.Flow[I];
    R.Work += B.Work;
    R.Instructions += B.Accesses;
    R.Defines |= B.Defines;
    R.Length += B.Length;
    R.LoopDepth = std::max(R.LoopDepth, B.LoopDepth);
  }
}

/// The region's blocks, and all that may need a copy because of them.
void RegionBorder::findNear(const BitVector &Blocks) {
  if (Touched.size() > Junctions.size() / 4) { // most of them
    Near.set();
    return;
  }
  Near = Blocks;
  for (unsigned J : Touched)
    for (unsigned I : Live.blocksAt(J))
      Near.set(I);
}

RegionBorder::Junction &RegionBorder::touch(unsigned J) {
  if (!std::exchange(Junctions[J].HasInside, true))
    Touched.push_back(J);
  return Junctions[J];
}

/// What a copy out of the region costs.
static double leaving(const BlockFlow &B, bool Defines) {
  return Defines ? WriteCost * B.Frequency : 0;
}

void RegionBorder::noteInside(const BlockFlow &B, bool Defines) {
  if (B.In)
    touch(B.Before).Outside += ReadCost * B.Frequency;
  if (B.Out) {
    Junction &J = touch(B.After);
    J.Outside += leaving(B, Defines);
    J.MustBeInside |= B.Pinned && Defines;
  }
}

/// Where no block of the region is, the value is in the rest.
void RegionBorder::noteOutside(unsigned I, bool Defines,
                               const TakenBlocks *Taken) {
  const BlockFlow &B = Live.Flow[I];
  if (B.In && Junctions[B.Before].HasInside) {
    Junction &J = Junctions[B.Before];
    J.HasOutside = true;
    J.Inside += leaving(B, Defines);
    J.MustBeOutside |= Defines && Taken && Taken->AtStart[I];
  }
  if (B.Out && Junctions[B.After].HasInside) {
    Junction &J = Junctions[B.After];
    J.HasOutside = true;
    J.Inside += ReadCost * B.Frequency;
    J.MustBeOutside |= B.Pinned || (Taken && Taken->AtEnd[I]);
  }
}

void RegionBorder::addCopies(SplitRegion &R, unsigned I) const {
  using Place = RegionCopy::Place;
  const BlockFlow &B = Live.Flow[I];
  const bool Inside = R.Blocks[I];
  auto Add = [&](Place Where, bool Enters) {
    if (!Enters && !R.Defines)
      return;
    R.Copies.push_back({Live.All[I].Block, Where, nullptr, Enters});
    R.CopyCost += (Enters ? ReadCost : WriteCost) * B.Frequency;
  };
  if (B.In && Junctions[B.Before].isInside() != Inside)
    Add(Place::BlockStart, Inside);
  if (B.Out && Junctions[B.After].isInside() != Inside)
    Add(Place::BlockEnd, !Inside);
}

bool closeGap(SplitRegion &R, const LiveBlocks &Live, unsigned Index,
              size_t First, size_t Last) {
  const LiveBlock &B = Live.All[Index];
  if (First == 0 && Last + 1 == B.Accesses.size() && !B.In && !B.Out)
    return false;
  R.Kind = RegionKind::Gap;
  R.Blocks.resize(Live.size());
  R.Blocks.set(Index);
  R.First = &B.Accesses[First];
  R.Last = &B.Accesses[Last];
  R.LoopDepth = B.LoopDepth;
  R.Length = R.First->Index.distance(R.Last->Index) + SlotIndex::InstrDist;
  for (size_t I = First; I <= Last; ++I) {
    const RangeAccess &A = B.Accesses[I];
    R.Work += A.cost() * B.Frequency;
    R.Defines |= A.Writes;
    ++R.Instructions;
  }
  if (R.Last->Instruction->isTerminator() || (R.Defines && B.Pinned && B.Out))
    return false;
  using Place = RegionCopy::Place;
  if (Live.Range.Query(R.First->Index).valueIn()) {
    R.Copies.push_back({B.Block, Place::Before, R.First->Instruction, true});
    R.CopyCost += ReadCost * B.Frequency;
  }
  if (R.Defines && Live.Range.Query(R.Last->Index).valueOut()) {
    R.Copies.push_back({B.Block, Place::After, R.Last->Instruction, false});
    R.CopyCost += WriteCost * B.Frequency;
  }
  return true;
}

} // namespace passpilot
