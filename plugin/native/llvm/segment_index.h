// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Indexes the segments of many live ranges by position: finds those that
// overlap a given segment, and ends that LLVM has renumbered.
//
// When LLVM inserts instructions it renumbers slot indexes but keeps their
// order. The tree is therefore ordered by the indexes themselves; their numbers
// are stored only to detect renumbering.

#ifndef PASSPILOT_LLVM_SEGMENT_INDEX_H
#define PASSPILOT_LLVM_SEGMENT_INDEX_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/CodeGen/SlotIndexes.h"

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

namespace passpilot {

/// [first, second) in slots.
using Segment = std::pair<llvm::SlotIndex, llvm::SlotIndex>;

class SegmentIndex {
public:
  using Visitor = llvm::function_ref<void(unsigned Range)>;

  /// \p Zero: the function's first slot.
  explicit SegmentIndex(llvm::SlotIndex Zero) : Zero(Zero), Nodes(1) {}

  /// The segments of one range do not overlap.
  void insert(const Segment &S, unsigned Range);
  /// Erases \p S exactly as it was inserted.
  void erase(const Segment &S, unsigned Range);

  /// Visits the owner of every segment that overlaps \p S.
  void overlapping(const Segment &S, Visitor Visit);
  /// Visits the owners of ends that LLVM has renumbered, from \p From on. LLVM
  /// renumbers a run of neighbours, so the search stops at the first end at or
  /// after \p Until whose number is unchanged.
  void renumbered(llvm::SlotIndex From, llvm::SlotIndex Until, Visitor Visit);

  /// The number of segments and ends visited so far.
  uint64_t looks() const { return Looks; }

private:
  // A treap by (Start, Range): node 0 is the empty tree.
  struct Node {
    llvm::SlotIndex Start, End, LastEnd; ///< LastEnd: the subtree's last end
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
