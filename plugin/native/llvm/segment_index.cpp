// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "segment_index.h"

#include <algorithm>

using namespace llvm;

namespace passpilot {

unsigned SegmentIndex::newNode(const Segment &S, unsigned Range) {
  unsigned N = static_cast<unsigned>(Nodes.size());
  if (Free.empty()) {
    Nodes.emplace_back();
  } else {
    N = Free.back();
    Free.pop_back();
  }
  // Marsaglia's xorshift; deterministic, so every run has the same tree.
  Seed ^= Seed << 13;
  Seed ^= Seed >> 17;
  Seed ^= Seed << 5;
  Node &New = Nodes[N];
  New.Start = S.first;
  New.End = New.LastEnd = S.second;
  New.Range = Range;
  New.Left = New.Right = 0;
  New.Heat = Seed;
  return N;
}

bool SegmentIndex::before(const Node &N, SlotIndex Start,
                          unsigned Range) const {
  return N.Start != Start ? N.Start < Start : N.Range < Range;
}

/// Recomputes LastEnd of \p N from its children.
void SegmentIndex::settle(unsigned N) {
  Node &Parent = Nodes[N];
  Parent.LastEnd = Parent.End;
  for (unsigned Child : {Parent.Left, Parent.Right})
    if (Child)
      Parent.LastEnd = std::max(Parent.LastEnd, Nodes[Child].LastEnd);
}

/// Splits \p Tree into the nodes before (\p Start, \p Range) and the rest.
void SegmentIndex::split(unsigned Tree, SlotIndex Start, unsigned Range,
                         unsigned &Low, unsigned &High) {
  if (!Tree) {
    Low = High = 0;
    return;
  }
  ++Looks;
  if (before(Nodes[Tree], Start, Range)) {
    split(Nodes[Tree].Right, Start, Range, Nodes[Tree].Right, High);
    Low = Tree;
  } else {
    split(Nodes[Tree].Left, Start, Range, Low, Nodes[Tree].Left);
    High = Tree;
  }
  settle(Tree);
}

/// Joins two trees; all nodes of \p Low precede those of \p High.
unsigned SegmentIndex::merge(unsigned Low, unsigned High) {
  if (!Low || !High)
    return Low ? Low : High;
  ++Looks;
  const bool LowAbove = Nodes[Low].Heat > Nodes[High].Heat;
  const unsigned Top = LowAbove ? Low : High;
  if (LowAbove)
    Nodes[Low].Right = merge(Nodes[Low].Right, High);
  else
    Nodes[High].Left = merge(Low, Nodes[High].Left);
  settle(Top);
  return Top;
}

void SegmentIndex::insert(const Segment &S, unsigned Range) {
  const unsigned New = newNode(S, Range);
  unsigned Low, High;
  split(Root, S.first, Range, Low, High);
  Root = merge(merge(Low, New), High);
  for (SlotIndex At : {S.first, S.second})
    Ends.insert({At, Range, Zero.distance(At)});
}

void SegmentIndex::erase(const Segment &S, unsigned Range) {
  unsigned Low, Rest, Mine, High;
  split(Root, S.first, Range, Low, Rest);
  split(Rest, S.first, Range + 1, Mine, High);
  if (Mine)
    Free.push_back(Mine);
  Root = merge(Low, High);
  for (SlotIndex At : {S.first, S.second})
    Ends.erase({At, Range, 0});
}

void SegmentIndex::visit(unsigned Tree, const Segment &S, Visitor Visit) {
  // No node moves during the visit: Visit does not change the tree.
  while (Tree && S.first < Nodes[Tree].LastEnd) {
    const Node &N = Nodes[Tree];
    ++Looks;
    visit(N.Left, S, Visit);
    if (S.second <= N.Start)
      return;
    if (S.first < N.End)
      Visit(N.Range);
    Tree = N.Right;
  }
}

void SegmentIndex::overlapping(const Segment &S, Visitor Visit) {
  visit(Root, S, Visit);
}

void SegmentIndex::renumbered(SlotIndex From, SlotIndex Until, Visitor Visit) {
  for (auto I = Ends.lower_bound({From, 0, 0}); I != Ends.end(); ++I) {
    ++Looks;
    const int Now = Zero.distance(I->At);
    if (Now == I->Number && Until <= I->At)
      return;
    if (Now != I->Number)
      Visit(I->Range);
    I->Number = Now;
  }
}

} // namespace passpilot
