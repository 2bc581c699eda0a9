// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Allocates the registers of one function, step by step: take a live range from
// those that wait, and assign it, evict others for it, split it, spill it, or
// let it wait. AllocatorAdvice decides; the defaults are those of LLVM's greedy
// allocator, without its last-chance recolouring.

#pragma once

#include "allocator_advice.h"
#include "waiting_ranges.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/CodeGen/LiveRangeEdit.h"

namespace llvm {
class EdgeBundles;
class LiveDebugVariables;
class Spiller;
class VirtRegAuxInfo;
} // namespace llvm

namespace passpilot {

/// LLVM's helpers for one function.
struct AllocatorTools {
  llvm::VirtRegAuxInfo &Weights;
  llvm::Spiller &Spiller;
  llvm::LiveDebugVariables &Debug;
  const llvm::EdgeBundles &Bundles;
};

class FunctionAllocator final : llvm::LiveRangeEdit::Delegate {
public:
  FunctionAllocator(FunctionAllocation &F, const AllocatorTools &Tools,
                    RegisterAllocation *All)
      : F(F), Tools(Tools), Takeover(F, Records), Advice(All, F, Records),
        Waiting(F, Records) {}

  /// Returns a live range that found no register, and then leaves all of them
  /// without; none if all have one.
  llvm::Register run();

private:
  FunctionAllocation &F;
  const AllocatorTools Tools;
  RangeRecords Records;
  Evictions Takeover;
  AllocatorAdvice Advice;
  WaitingRanges Waiting;
  std::optional<FunctionBlocks> Blocks; ///< set when first needed
  llvm::SmallPtrSet<llvm::MachineInstr *, 32> DeadInstructions;
  using NewRegisters = llvm::SmallVector<llvm::Register, 8>;

  bool LRE_CanEraseVirtReg(llvm::Register Reg) override;
  void LRE_WillShrinkVirtReg(llvm::Register Reg) override;
  void LRE_DidCloneVirtReg(llvm::Register New, llvm::Register Old) override;

  llvm::Register allocateAll();
  bool place(const llvm::LiveInterval &LI);
  RangeChoices choicesOf(const llvm::LiveInterval &LI);
  void findRegisters(RangeChoices &C);
  void findEvictions(RangeChoices &C, bool OnlyLighter);
  void lookForEvictions(RangeChoices &C);
  void findBlocks(RangeChoices &C, std::optional<LiveBlocks> &Live);
  void findRegions(RangeChoices &C, std::optional<LiveBlocks> &Live,
                   bool OnlyBest);
  void lookForRegions(RangeChoices &C, std::optional<LiveBlocks> &Live);
  void assign(const llvm::LiveInterval &LI, llvm::MCRegister Reg);
  void evict(const llvm::LiveInterval &LI, llvm::MCRegister Reg);
  void split(const RangeChoices &C, const SplitRegion &R);
  void spill(const llvm::LiveInterval &LI);
  void queue(llvm::ArrayRef<llvm::Register> New);
  void releaseAll();
};

} // namespace passpilot
