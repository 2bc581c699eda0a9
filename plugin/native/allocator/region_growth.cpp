// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "region_growth.h"

#include <algorithm>

using namespace llvm;

namespace passpilot {

/// How often the neighbours of a junction are weighed against each other.
static constexpr unsigned Rounds = 12;

static bool isThrough(const BlockFlow &B) {
  return B.In && B.Out && !B.HasAccess;
}

RegionGrowth::RegionGrowth(const LiveBlocks &Live)
    : Blocks(Live.Flow), Firsts(Live.Junctions + 1), Bias(Live.Junctions),
      Sign(Live.Junctions) {
  connect();
}

/// Lists the neighbours of all junctions.
void RegionGrowth::connect() {
  auto ForEach = [&](auto Connect) {
    for (unsigned I = 0; I < Blocks.size(); ++I)
      if (const BlockFlow &B = Blocks[I]; isThrough(B) && B.Before != B.After) {
        Connect(B.Before, B.After, I);
        Connect(B.After, B.Before, I);
      }
  };
  ForEach([&](unsigned At, unsigned, unsigned) { ++Firsts[At + 1]; });
  for (size_t I = 1; I < Firsts.size(); ++I)
    Firsts[I] += Firsts[I - 1];
  Neighbours.resize(Firsts.back());
  std::vector<unsigned> Next(Firsts.begin(), Firsts.end() - 1);
  ForEach([&](unsigned At, unsigned Other, unsigned I) {
    Neighbours[Next[At]++] = {Blocks[I].Frequency, Other, I};
  });
}

/// What the blocks with accesses and the taken blocks say of their junctions.
void RegionGrowth::lean(const BitVector &Taken) {
  std::fill(Bias.begin(), Bias.end(), 0);
  for (unsigned I = 0; I < Blocks.size(); ++I) {
    const BlockFlow &B = Blocks[I];
    const bool IsTaken = Taken[I];
    if (isThrough(B) && !IsTaken)
      continue;
    const double Lean = IsTaken ? -B.Frequency : B.Frequency;
    if (B.In)
      Bias[B.Before] += Lean;
    if (B.Out)
      Bias[B.After] += Lean;
  }
}

/// Weighs all junctions against their neighbours, as LLVM's spill placement
/// does.
void RegionGrowth::settle(const BitVector &Taken) {
  std::fill(Sign.begin(), Sign.end(), 0);
  bool Changed = true;
  for (unsigned Round = 0; Changed && Round < Rounds; ++Round) {
    Changed = false;
    for (size_t J = 0; J < Sign.size(); ++J) {
      double Sum = Bias[J];
      for (unsigned I = Firsts[J]; I < Firsts[J + 1]; ++I)
        if (const Neighbour &N = Neighbours[I]; !Taken[N.Block])
          Sum += N.Weight * Sign[N.Junction];
      const int Now = Sum > 0 ? 1 : Sum < 0 ? -1 : 0;
      Changed |= Now != Sign[J];
      Sign[J] = Now;
    }
  }
}

BitVector RegionGrowth::grow(const BitVector &Taken) {
  lean(Taken);
  settle(Taken);
  BitVector Region(static_cast<unsigned>(Blocks.size()));
  for (unsigned I = 0; I < Blocks.size(); ++I) {
    const BlockFlow &B = Blocks[I];
    const bool Stays = B.In && B.Out && Sign[B.Before] > 0 && Sign[B.After] > 0;
    if ((B.HasAccess || Stays) && !Taken[I])
      Region.set(I);
  }
  return Region;
}

} // namespace passpilot
