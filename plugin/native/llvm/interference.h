// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The interference graph of a function whose registers are being allocated.
// Nodes are the live ranges of virtual registers; an edge says that two
// ranges overlap and could want the same register. The first question builds
// the graph; later ones update it at a cost proportional to what has changed
// and to the ranges in the blocks where it changed.

#pragma once

#include "live_range_question.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"

#include <memory>
#include <utility>
#include <vector>

namespace passpilot {

/// Numbers of virtual registers.
using RegisterSet = llvm::SmallSetVector<unsigned, 16>;

/// The state of one node, without its neighbours.
struct RangeState {
  const llvm::TargetRegisterClass *Class = nullptr;
  float Weight = 0;
  unsigned Size = 0;
  llvm::Register Hint;
  llvm::MCRegister Assigned;

  bool isSpillable() const;
  /// LLVM's estimate of the cost of a spill, from which it computes the weight.
  double spillCost() const;
  bool operator==(const RangeState &O) const {
    return Class == O.Class && Weight == O.Weight && Size == O.Size &&
           Hint == O.Hint && Assigned == O.Assigned;
  }
};

/// The difference between two versions of a graph.
struct InterferenceChanges {
  size_t Version;                ///< the version after the changes
  std::vector<unsigned> Removed; ///< removed nodes; their edges go, too
  std::vector<unsigned> Nodes;   ///< new nodes, or nodes whose state changed
  std::vector<std::pair<unsigned, unsigned>> Unlinked, Linked;
};

class InterferenceGraph {
public:
  explicit InterferenceGraph(const FunctionAllocation &F);

  /// Reads the ranges of these registers again.
  void update(llvm::ArrayRef<unsigned> Numbers);
  /// LLVM has inserted instructions into \p B, and so may have renumbered slots
  /// from there on: adds to \p Touched the ranges whose size may have changed.
  void renumbered(const llvm::MachineBasicBlock &B, RegisterSet &Touched);
  /// The changes since \p Version; version 0 is the empty graph.
  InterferenceChanges changes(size_t Version) const;
  /// Null for a register without a live range.
  const RangeState *find(unsigned Number) const;
  /// Of a node; ascending.
  llvm::ArrayRef<unsigned> neighbours(unsigned Number) const {
    return Nodes[Number]->Neighbours;
  }
  /// The number of ranges read or compared so far.
  uint64_t work() const { return Work; }

private:
  /// [first, second) in slots. LLVM renumbers slots but keeps their order.
  using Segment = std::pair<llvm::SlotIndex, llvm::SlotIndex>;
  struct Node : RangeState {
    std::vector<Segment> Segments;
    std::vector<int64_t> Blocks;      ///< in which it is live, ascending
    std::vector<unsigned> Neighbours; ///< ascending
    bool overlaps(const Node &O) const;
  };

  const FunctionAllocation &F;
  std::vector<std::vector<unsigned>> InBlock; ///< the live ranges of each block
  std::vector<int> Starts; ///< the blocks' first slots, as last numbered
  std::vector<std::unique_ptr<Node>> Nodes; ///< by number
  // All changes in order; a changed node is an edge to itself.
  std::vector<std::pair<unsigned, unsigned>> Journal;
  llvm::DenseMap<const llvm::TargetRegisterClass *, llvm::BitVector> Units;
  llvm::DenseMap<std::pair<unsigned, unsigned>, bool> Shared;
  uint64_t Work = 0;

  bool readNode(unsigned Number);
  void removeNode(unsigned Number);
  void setBlocks(unsigned Number, std::vector<int64_t> Blocks);
  void findNeighbours(unsigned Number);
  void link(unsigned A, unsigned B);
  void unlink(unsigned A, unsigned B);
  bool linked(unsigned A, unsigned B) const;
  const llvm::BitVector &unitsOf(const llvm::TargetRegisterClass *C);
  bool shareRegisters(const llvm::TargetRegisterClass *A,
                      const llvm::TargetRegisterClass *B);
};

/// The live range of \p Reg if it is a node; else null.
const llvm::LiveInterval *liveRange(const FunctionAllocation &F,
                                    llvm::Register Reg);

RangeState stateOf(const FunctionAllocation &F, const llvm::LiveInterval &LI);

/// The current graph, built from scratch.
InterferenceGraph madeAfresh(const FunctionAllocation &F);
/// The current graph by LLVM's pairwise comparison, without an index.
InterferenceChanges comparedByPairs(const FunctionAllocation &F);

/// Maintains the graph of one function. LLVM announces most changes: new
/// registers and instructions to delegates; unassigned live ranges to the
/// eviction advisor, or by queueing them. Other changes concern only ranges
/// that LLVM has dequeued, so this class keeps a copy of the queue.
///
/// During an edit (a split, a spill) or a recolouring, announced changes are
/// not final: every question reads them again until one comes from outside an
/// edit.
class InterferenceTracker final : llvm::MachineRegisterInfo::Delegate,
                                  llvm::MachineFunction::Delegate {
public:
  /// \p Queue: what LLVM has queued so far.
  InterferenceTracker(FunctionAllocation &F, llvm::ArrayRef<QueueEntry> Queue);
  ~InterferenceTracker() override;
  InterferenceTracker(const InterferenceTracker &) = delete;
  InterferenceTracker &operator=(const InterferenceTracker &) = delete;

  /// Call this before LLVM queues \p Reg, and queued() after it.
  void queueing(llvm::Register Reg, bool Nested);
  void queued(const QueueEntry &E);
  /// \p Reg was unassigned and is not in LLVM's queue.
  void unassigned(llvm::Register Reg);

  /// Updates the graph for a question about \p Reg. \p Nested: the question
  /// comes from within an edit or a recolouring.
  const InterferenceGraph &sync(llvm::Register Reg, bool Nested);

private:
  FunctionAllocation &F;
  llvm::MachineFunction &MF;
  llvm::MachineFunction::Delegate *const Before;
  InterferenceGraph Graph;
  bool Built = false;
  RegisterSet Noted;
  llvm::DenseSet<llvm::MachineInstr *> Inserted;
  llvm::SmallSetVector<const llvm::MachineBasicBlock *, 8> Edited;
  // A copy of LLVM's queue: numbered entries, and the last of each register.
  std::vector<std::pair<QueueEntry, size_t>> Queue;
  llvm::DenseMap<unsigned, size_t> Latest;
  size_t Ordinal = 0;

  void note(llvm::Register Reg) { Noted.insert(Reg.virtRegIndex()); }
  void noteOperands(const llvm::MachineInstr &I);
  void takeInserted();
  void takeDequeued(bool Nested);
  void dropFromQueue();

  void MRI_NoteNewVirtualRegister(llvm::Register Reg) override { note(Reg); }
  void MF_HandleInsertion(llvm::MachineInstr &I) override;
  void MF_HandleRemoval(llvm::MachineInstr &I) override;
  void MF_HandleChangeDesc(llvm::MachineInstr &I,
                           const llvm::MCInstrDesc &D) override;
};

} // namespace passpilot
