// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The function whose registers LLVM allocates, and the analyses of it.

#ifndef PASSPILOT_LLVM_FUNCTION_ALLOCATION_H
#define PASSPILOT_LLVM_FUNCTION_ALLOCATION_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/CodeGen/MachineBlockFrequencyInfo.h"
#include "llvm/MC/MCRegister.h"

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

/// What LLVM's queue orders live ranges by: priority, complement of register.
using QueueEntry = std::pair<unsigned, unsigned>;

/// The function whose registers are being allocated, and LLVM's analyses of it.
/// Lives as long as the allocator works on the function.
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
  const size_t Observers; ///< of MRI, while no edit is going on

  /// The live ranges in the way of \p LI in each unit of \p Reg.
  llvm::SmallVector<Ranges, 4> inTheWay(const llvm::LiveInterval &LI,
                                        llvm::MCRegister Reg) const;

  /// The graph as it is at the question; see interference.h.
  const InterferenceGraph &interference(const LiveRangeQuestion &Q);
  // What the graph is told: a range is about to be queued, and was; ranges are
  // about to be evicted for another.
  void queueing(const llvm::LiveInterval &LI);
  void queued(const llvm::LiveInterval &LI, unsigned Priority);
  void evicting(const llvm::LiveInterval &LI, llvm::MCRegister Reg);
  /// Whether LLVM, about to queue \p LI, is in the middle of splitting,
  /// spilling or recolouring.
  bool nested(const llvm::LiveInterval &LI) const;

  std::vector<QueueEntry> Queue = {}; ///< until somebody asks for the graph
  std::shared_ptr<InterferenceTracker> Interference = {}; ///< once asked for
  std::shared_ptr<void> Kept = {}; ///< the graph as Python has it
};

} // namespace passpilot

#endif
