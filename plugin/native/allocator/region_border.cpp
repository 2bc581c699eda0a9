// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where control flow joins or forks, all blocks must agree whether the value is
// in the region's register or in the rest's: an edge bundle is such a place.
// The cheaper side wins, and the blocks of the other side get copies. If the
// region has no definition, the rest keeps its value alive through the region,
// so that no copy leaves it.

#include "region_border.h"

#include "llvm/CodeGen/LiveIntervals.h"
#include "llvm/CodeGen/MachineBasicBlock.h"

#include <algorithm>

using namespace llvm;

namespace passpilot {

std::string SplitRegion::name(const LiveBlocks &Live) const {
  static constexpr const char *Names[] = {"loop", "block", "register", "gap"};
  const int Block = Blocks.find_first();
  return std::string(Names[static_cast<size_t>(Kind)]) + ":" +
         std::to_string(Block < 0 ? 0 : Live.All[Block].Block->getNumber());
}

bool SplitRegion::contains(const LiveBlocks &Live, const MachineInstr &I,
                           const LiveIntervals &LIS) const {
  const MachineBasicBlock *B = I.getParent();
  if (!Live.contains(B) || !Blocks[Live.indexOf(B)])
    return false;
  if (!First)
    return true;
  const SlotIndex At = LIS.getInstructionIndex(I);
  return First->Index <= At && At <= Last->Index;
}

namespace {

/// A place where control flow joins or forks.
struct Junction {
  double Inside = 0;  ///< the cost of the copies if the value is inside there
  double Outside = 0; ///< ... or in the rest
  bool HasInside = false, HasOutside = false;
  bool MustBeInside = false, MustBeOutside = false;

  bool possible() const { return !MustBeInside || !MustBeOutside; }
  bool isInside() const {
    if (!HasInside || !HasOutside)
      return HasInside;
    return MustBeInside || (!MustBeOutside && Inside < Outside);
  }
};

class Border {
public:
  Border(SplitRegion &R, const LiveBlocks &Live, const TakenBlocks *Taken)
      : R(R), Live(Live), Taken(Taken), Junctions(Live.Junctions) {}

  bool close() {
    for (unsigned I : R.Blocks.set_bits())
      noteInside(Live.Flow[I]);
    for (unsigned I = 0; I < Live.size(); ++I)
      if (!R.Blocks[I])
        noteOutside(Live.Flow[I], I);
    for (const Junction &J : Junctions)
      if (!J.possible())
        return false;
    for (unsigned I = 0; I < Live.size(); ++I)
      addCopies(Live.Flow[I], I, R.Blocks[I]);
    return true;
  }

private:
  SplitRegion &R;
  const LiveBlocks &Live;
  const TakenBlocks *const Taken;
  std::vector<Junction> Junctions;

  double leaving(const BlockFlow &B) const {
    return R.Defines ? WriteCost * B.Frequency : 0;
  }

  void noteInside(const BlockFlow &B) {
    if (B.In) {
      Junction &J = Junctions[B.Before];
      J.HasInside = true;
      J.Outside += ReadCost * B.Frequency;
    }
    if (B.Out) {
      Junction &J = Junctions[B.After];
      J.HasInside = true;
      J.Outside += leaving(B);
      J.MustBeInside |= B.Pinned && R.Defines;
    }
  }

  void noteOutside(const BlockFlow &B, unsigned I) {
    if (B.In) {
      Junction &J = Junctions[B.Before];
      J.HasOutside = true;
      J.Inside += leaving(B);
      J.MustBeOutside |= R.Defines && Taken && Taken->AtStart[I];
    }
    if (B.Out) {
      Junction &J = Junctions[B.After];
      J.HasOutside = true;
      J.Inside += ReadCost * B.Frequency;
      J.MustBeOutside |= B.Pinned || (Taken && Taken->AtEnd[I]);
    }
  }

  void addCopies(const BlockFlow &B, unsigned I, bool Inside) {
    using Place = RegionCopy::Place;
    if (B.In && Junctions[B.Before].isInside() != Inside)
      add(I, Place::BlockStart, Inside);
    if (B.Out && Junctions[B.After].isInside() != Inside)
      add(I, Place::BlockEnd, !Inside);
  }

  void add(unsigned I, RegionCopy::Place Where, bool Enters) {
    if (!Enters && !R.Defines)
      return;
    R.Copies.push_back({Live.All[I].Block, Where, nullptr, Enters});
    R.CopyCost += (Enters ? ReadCost : WriteCost) * Live.Flow[I].Frequency;
  }
};

} // namespace

bool closeBlocks(SplitRegion &R, const LiveBlocks &Live,
                 const TakenBlocks *Taken) {
  R.Copies.clear();
  R.Work = R.CopyCost = 0;
  R.Instructions = R.LoopDepth = 0;
  R.Length = 0;
  R.Defines = false;
  if (R.Blocks.all())
    return false;
  for (unsigned I : R.Blocks.set_bits()) {
    const LiveBlock &B = Live.All[I];
    R.Work += B.Work;
    R.Instructions += static_cast<unsigned>(B.Accesses.size());
    R.Defines |= B.Defines;
    R.Length += B.Length;
    R.LoopDepth = std::max(R.LoopDepth, B.LoopDepth);
  }
  return R.Instructions && Border(R, Live, Taken).close();
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
