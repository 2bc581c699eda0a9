// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "region_growth.h"

#include <algorithm>
#include <utility>

using namespace llvm;

namespace passpilot {

/// How often the neighbours of a junction are weighed against each other.
static constexpr unsigned Rounds = 12;

static bool isThrough(const BlockFlow &B) {
  return B.In && B.Out && !B.Accesses;
}

RegionGrowth::RegionGrowth(const LiveBlocks &Live)
    : Blocks(Live.Flow), Firsts(Live.Junctions + 1), Untaken(Live.Junctions),
      Sign(Live.Junctions), Unsettled(Live.Junctions) {
  for (const BlockFlow &B : Blocks)
    if (!isThrough(B))
      lean(Untaken, B, B.Frequency);
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

void RegionGrowth::lean(std::vector<double> &Bias, const BlockFlow &B,
                        double By) {
  if (B.In)
    Bias[B.Before] += By;
  if (B.Out)
    Bias[B.After] += By;
}

/// Weighs all junctions against their neighbours, as LLVM's spill placement
/// does. One is weighed again only if a neighbour has changed.
void RegionGrowth::propagate(const BitVector &Taken) {
  std::fill(Sign.begin(), Sign.end(), 0);
  for (unsigned J = 0; J < Bias.size(); ++J)
    if (Bias[J] != 0)
      Unsettled.set(J);
  for (unsigned Round = 0; Unsettled.any() && Round < Rounds; ++Round)
    for (int Next = Unsettled.find_first(); Next >= 0;
         Next = Unsettled.find_next(static_cast<unsigned>(Next)))
      weigh(static_cast<unsigned>(Next), Taken);
  Unsettled.reset();
}

void RegionGrowth::weigh(unsigned J, const BitVector &Taken) {
  Unsettled.reset(J);
  double Sum = Bias[J];
  for (unsigned I = Firsts[J]; I < Firsts[J + 1]; ++I)
    if (const Neighbour &N = Neighbours[I]; !Taken[N.Block])
      Sum += N.Weight * Sign[N.Junction];
  const int Now = Sum > 0 ? 1 : Sum < 0 ? -1 : 0;
  if (std::exchange(Sign[J], Now) == Now)
    return;
  for (unsigned I = Firsts[J]; I < Firsts[J + 1]; ++I)
    Unsettled.set(Neighbours[I].Junction);
}

BitVector RegionGrowth::grow(const BitVector &Taken) {
  Bias = Untaken;
  for (unsigned I : Taken.set_bits())
    lean(Bias, Blocks[I],
         (isThrough(Blocks[I]) ? -1 : -2) * Blocks[I].Frequency);
  propagate(Taken);
  BitVector Region(static_cast<unsigned>(Blocks.size()));
  for (unsigned I = 0; I < Blocks.size(); ++I) {
    const BlockFlow &B = Blocks[I];
    const bool Stays = B.In && B.Out && Sign[B.Before] > 0 && Sign[B.After] > 0;
    if ((B.Accesses || Stays) && !Taken[I])
      Region.set(I);
  }
  return Region;
}

} // namespace passpilot
