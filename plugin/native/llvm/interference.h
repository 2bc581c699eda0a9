// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The interference graph of a function whose registers are being allocated:
// nodes are the live ranges of its virtual registers, edges say that two ranges
// overlap and could want the same register. It is built when somebody first
// asks, and then follows what LLVM does to the ranges, at a cost that follows
// how much that is.

#ifndef PASSPILOT_LLVM_INTERFERENCE_H
#define PASSPILOT_LLVM_INTERFERENCE_H

#include "live_range_question.h"
#include "segment_index.h"
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

/// What one node shows, but for its neighbours.
struct RangeState {
  const llvm::TargetRegisterClass *Class = nullptr;
  float Weight = 0;
  unsigned Size = 0;
  llvm::Register Hint;
  llvm::MCRegister Assigned;

  bool isSpillable() const;
  /// LLVM's estimate of what a spill would cost, from which it has the weight.
  double spillCost() const;
  bool operator==(const RangeState &O) const {
    return Class == O.Class && Weight == O.Weight && Size == O.Size &&
           Hint == O.Hint && Assigned == O.Assigned;
  }
};

/// The difference between two versions of a graph.
struct InterferenceChanges {
  size_t Version;                ///< the later one
  std::vector<unsigned> Removed; ///< nodes, with their edges
  std::vector<unsigned> Nodes;   ///< new, or with another state
  std::vector<std::pair<unsigned, unsigned>> Unlinked, Linked;
};

class InterferenceGraph {
public:
  explicit InterferenceGraph(const FunctionAllocation &F);

  /// Reads the ranges of these registers again.
  void update(llvm::ArrayRef<unsigned> Numbers);
  /// Adds to \p Touched the ranges whose size LLVM has changed by renumbering;
  /// see SegmentIndex.
  void renumbered(llvm::SlotIndex From, llvm::SlotIndex Until,
                  RegisterSet &Touched);
  /// What is different since \p Version, 0 being the empty graph.
  InterferenceChanges changes(size_t Version) const;
  /// Null for a register without a live range.
  const RangeState *find(unsigned Number) const;
  /// How many ranges have been read, and segments been looked at.
  uint64_t work() const { return Reads + Index.looks(); }

private:
  struct Node : RangeState {
    std::vector<Segment> Segments;
    std::vector<unsigned> Neighbours; ///< ascending
  };

  const FunctionAllocation &F;
  SegmentIndex Index;
  std::vector<std::unique_ptr<Node>> Nodes; ///< by number
  // What has changed, in order: a node as an edge to itself.
  std::vector<std::pair<unsigned, unsigned>> Journal;
  llvm::DenseMap<const llvm::TargetRegisterClass *, llvm::BitVector> Units;
  llvm::DenseMap<std::pair<unsigned, unsigned>, bool> Shared;
  uint64_t Reads = 0;

  bool readNode(unsigned Number);
  void removeNode(unsigned Number);
  void findNeighbours(unsigned Number);
  void link(unsigned A, unsigned B);
  void unlink(unsigned A, unsigned B);
  bool linked(unsigned A, unsigned B) const;
  const llvm::BitVector &unitsOf(const llvm::TargetRegisterClass *C);
  bool shareRegisters(const llvm::TargetRegisterClass *A,
                      const llvm::TargetRegisterClass *B);
};

/// Whether \p Reg has a live range that is a node.
const llvm::LiveInterval *liveRange(const FunctionAllocation &F,
                                    llvm::Register Reg);

RangeState stateOf(const FunctionAllocation &F, const llvm::LiveInterval &LI);

/// The graph of this moment, made from nothing.
InterferenceGraph madeAfresh(const FunctionAllocation &F);
/// The same graph made without an index: LLVM compares each two ranges.
InterferenceChanges comparedByPairs(const FunctionAllocation &F);

/// Keeps the graph of one function. LLVM announces most of what it does: new
/// registers and instructions to delegates; live ranges that it unassigns to
/// the eviction advisor, or by queueing them. The rest concerns only what it
/// has taken off its queue, which is kept here a second time.
///
/// While an edit (a split, a spill) or a recolouring is going on, what was
/// announced before may still change: it is read again at every question until
/// one comes that is not asked from within.
class InterferenceTracker final : llvm::MachineRegisterInfo::Delegate,
                                  llvm::MachineFunction::Delegate {
public:
  /// \p Queue: what LLVM has queued until now.
  InterferenceTracker(FunctionAllocation &F, llvm::ArrayRef<QueueEntry> Queue);
  ~InterferenceTracker() override;
  InterferenceTracker(const InterferenceTracker &) = delete;
  InterferenceTracker &operator=(const InterferenceTracker &) = delete;

  /// \p Reg is about to enter LLVM's queue, or has.
  void queueing(llvm::Register Reg, bool Nested);
  void queued(const QueueEntry &E);
  /// It has been unassigned, and is not in LLVM's queue.
  void unassigned(llvm::Register Reg);

  /// Brings the graph up to date for a question about \p Reg. \p Nested: LLVM
  /// asks from within an edit or a recolouring.
  const InterferenceGraph &sync(llvm::Register Reg, bool Nested);

private:
  FunctionAllocation &F;
  llvm::MachineFunction &MF;
  llvm::MachineFunction::Delegate *const Before;
  InterferenceGraph Graph;
  bool Built = false;
  RegisterSet Noted;
  llvm::DenseSet<llvm::MachineInstr *> Inserted;
  std::vector<std::pair<llvm::SlotIndex, llvm::SlotIndex>> Removed;
  // LLVM's queue: entries with their ordinals, and the last of each register.
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

#endif
