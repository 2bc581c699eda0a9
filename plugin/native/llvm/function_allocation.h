// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The function whose registers LLVM is allocating, with its analyses.

#pragma once

#include "llvm/ADT/SmallVector.h"
#include "llvm/CodeGen/MachineBlockFrequencyInfo.h"
#include "llvm/CodeGen/Register.h"
#include "llvm/MC/MCRegister.h"

#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace llvm {
class LiveInterval;
class LiveIntervals;
class LiveRegMatrix;
class MachineFunction;
class MachineLoopInfo;
class MachineRegisterInfo;
class RegisterClassInfo;
class TargetRegisterInfo;
class VirtRegMap;
} // namespace llvm

namespace passpilot {

class InterferenceGraph;
class InterferenceTracker;
class LiveRangeQuestion;

using Ranges = llvm::SmallVector<const llvm::LiveInterval *, 8>;

/// LLVM's queue order of live ranges: (priority, complement of register).
using QueueEntry = std::pair<unsigned, unsigned>;

/// The function whose registers are being allocated, with LLVM's analyses of
/// it. Lives as long as the allocator works on the function.
struct FunctionAllocation {
  const llvm::MachineFunction &MF;
  llvm::LiveIntervals &LIS;
  llvm::VirtRegMap &VRM;
  llvm::LiveRegMatrix &Matrix;
  llvm::MachineRegisterInfo &MRI;
  const llvm::TargetRegisterInfo &TRI;
  const llvm::RegisterClassInfo &Classes;
  llvm::MachineBlockFrequencyInfo *Frequencies;
  llvm::MachineLoopInfo *Loops;
  const size_t Observers; ///< MRI's delegates outside of edits

  /// For each unit of \p Reg, the live ranges that interfere with \p LI.
  llvm::SmallVector<Ranges, 4> inTheWay(const llvm::LiveInterval &LI,
                                        llvm::MCRegister Reg) const;

  /// The interference graph at the question; see interference.h.
  const InterferenceGraph &interference(const LiveRangeQuestion &Q);
  // Events that the graph follows. Call queueing() before a range is queued,
  // queued() after it, and evicting() before ranges are evicted for \p LI.
  void queueing(const llvm::LiveInterval &LI);
  void queued(const llvm::LiveInterval &LI, unsigned Priority);
  void evicting(const llvm::LiveInterval &LI, llvm::MCRegister Reg);
  /// Call this if \p Reg was assigned, unassigned, split or spilled by an
  /// allocator that announces every change itself.
  void changed(llvm::Register Reg);
  /// Whether LLVM is splitting, spilling or recolouring while it queues \p
  /// LI.
  bool nested(const llvm::LiveInterval &LI) const;

  std::vector<QueueEntry> Queue = {}; ///< used until the graph is built
  std::shared_ptr<InterferenceTracker> Interference = {}; ///< the graph
  std::shared_ptr<void> Kept = {}; ///< Python's object for the graph

  /// What features have computed of the function at its first question, by
  /// their maker; empty if nothing yet.
  std::vector<float> &vectorOf(const void *Maker) { return Vectors[Maker]; }
  std::map<const void *, std::vector<float>> Vectors = {};
};

} // namespace passpilot
