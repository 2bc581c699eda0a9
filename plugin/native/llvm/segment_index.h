// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The segments of many live ranges, found by where they are: which overlap one
// given segment, and which have ends whose number LLVM has changed.
//
// LLVM renumbers slot indexes when instructions are inserted, which changes
// their numbers and never their order. So everything here is ordered by the
// indexes themselves, and stays so; numbers are kept only to see the change.

#ifndef PASSPILOT_LLVM_SEGMENT_INDEX_H
#define PASSPILOT_LLVM_SEGMENT_INDEX_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/CodeGen/SlotIndexes.h"

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

namespace passpilot {

/// From the first slot to before the second.
using Segment = std::pair<llvm::SlotIndex, llvm::SlotIndex>;

class SegmentIndex {
public:
  using Visitor = llvm::function_ref<void(unsigned Range)>;

  /// \p Zero: the function's first slot.
  explicit SegmentIndex(llvm::SlotIndex Zero) : Zero(Zero), Nodes(1) {}

  /// The segments of one range do not overlap.
  void insert(const Segment &S, unsigned Range);
  /// \p S as it was inserted.
  void erase(const Segment &S, unsigned Range);

  /// Visits the owners of the segments that overlap \p S, each segment's once.
  void overlapping(const Segment &S, Visitor Visit);
  /// Visits the owners of ends that LLVM has renumbered, from \p From onwards:
  /// it renumbers a run of neighbours, so the first end at or after \p Until
  /// that has kept its number ends the search.
  void renumbered(llvm::SlotIndex From, llvm::SlotIndex Until, Visitor Visit);

  /// How many segments and ends have been looked at.
  uint64_t looks() const { return Looks; }

private:
  // A treap by (Start, Range): node 0 is the empty tree.
  struct Node {
    llvm::SlotIndex Start, End, LastEnd; ///< LastEnd: within the subtree
    unsigned Range = 0, Left = 0, Right = 0;
    uint32_t Heat = 0;
  };
  struct End {
    llvm::SlotIndex At;
    unsigned Range;
    mutable int Number;
    bool operator<(const End &O) const {
      return At != O.At ? At < O.At : Range < O.Range;
    }
  };

  const llvm::SlotIndex Zero;
  std::vector<Node> Nodes;
  std::vector<unsigned> Free;
  std::set<End> Ends;
  unsigned Root = 0;
  uint32_t Seed = 1;
  uint64_t Looks = 0;

  unsigned newNode(const Segment &S, unsigned Range);
  bool before(const Node &N, llvm::SlotIndex Start, unsigned Range) const;
  void settle(unsigned N);
  void split(unsigned Tree, llvm::SlotIndex Start, unsigned Range,
             unsigned &Low, unsigned &High);
  unsigned merge(unsigned Low, unsigned High);
  void visit(unsigned Tree, const Segment &S, Visitor Visit);
};

} // namespace passpilot

#endif
