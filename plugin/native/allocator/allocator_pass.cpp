// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "allocator_pass.h"

#include "../llvm/compat.h"
#include "../llvm/tool.h"
#include "function_allocator.h"
#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/Analysis/ProfileSummaryInfo.h"
#include "llvm/CodeGen/CalcSpillWeights.h"
#include "llvm/CodeGen/EdgeBundles.h"
#include "llvm/CodeGen/LiveDebugVariables.h"
#include "llvm/CodeGen/LiveIntervals.h"
#include "llvm/CodeGen/LiveRegMatrix.h"
#include "llvm/CodeGen/LiveStacks.h"
#include "llvm/CodeGen/MachineDominators.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/MachineLoopInfo.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/CodeGen/Passes.h"
#include "llvm/CodeGen/RegAllocRegistry.h"
#include "llvm/CodeGen/RegisterClassInfo.h"
#include "llvm/CodeGen/SlotIndexes.h"
#include "llvm/CodeGen/Spiller.h"
#include "llvm/CodeGen/TargetPassConfig.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/CodeGen/VirtRegMap.h"
#include "llvm/IR/Function.h"
#include "llvm/Target/RegisterTargetPassConfigCallback.h"

#include <mutex>

using namespace llvm;

namespace passpilot {

namespace {

class AdvisedAllocator final : public MachineFunctionPass {
public:
  static char ID;
  AdvisedAllocator() : MachineFunctionPass(ID) {}
  StringRef getPassName() const override {
    return "Advised Register Allocator";
  }
  void getAnalysisUsage(AnalysisUsage &AU) const override;
  MachineFunctionProperties getRequiredProperties() const override {
    return MachineFunctionProperties().setNoPHIs();
  }
  MachineFunctionProperties getClearedProperties() const override {
    return MachineFunctionProperties().setIsSSA();
  }
  bool doInitialization(Module &) override {
    LeftToGreedy = 0;
    return false;
  }
  bool runOnMachineFunction(MachineFunction &MF) override;

private:
  unsigned LeftToGreedy = 0;

  Register allocate(FunctionAllocation &F, RegisterAllocation *All);
  void warn(const MachineFunction &MF);
};

char AdvisedAllocator::ID = 0;

/// All that LLVM's greedy allocator, which runs behind this pass, needs too.
void AdvisedAllocator::getAnalysisUsage(AnalysisUsage &AU) const {
  AU.setPreservesCFG();
  AU.addRequired<LiveIntervalsWrapperPass>();
  AU.addPreserved<LiveIntervalsWrapperPass>();
  AU.addRequired<SlotIndexesWrapperPass>();
  AU.addPreserved<SlotIndexesWrapperPass>();
  AU.addRequired<LiveDebugVariablesWrapperLegacy>();
  AU.addPreserved<LiveDebugVariablesWrapperLegacy>();
  AU.addRequired<LiveStacksWrapperLegacy>();
  AU.addPreserved<LiveStacksWrapperLegacy>();
  AU.addRequired<ProfileSummaryInfoWrapperPass>();
  AU.addRequired<MachineBlockFrequencyInfoWrapperPass>();
  AU.addPreserved<MachineBlockFrequencyInfoWrapperPass>();
  AU.addRequired<MachineDominatorTreeWrapperPass>();
  AU.addPreserved<MachineDominatorTreeWrapperPass>();
  AU.addRequired<MachineLoopInfoWrapperPass>();
  AU.addPreserved<MachineLoopInfoWrapperPass>();
  AU.addRequired<VirtRegMapWrapperLegacy>();
  AU.addPreserved<VirtRegMapWrapperLegacy>();
  AU.addRequired<LiveRegMatrixWrapperLegacy>();
  AU.addPreserved<LiveRegMatrixWrapperLegacy>();
  AU.addRequired<EdgeBundlesWrapperLegacy>();
  AU.addRequired<RegAllocEvictionAdvisorAnalysisLegacy>();
  AU.addRequired<RegAllocPriorityAdvisorAnalysisLegacy>();
  MachineFunctionPass::getAnalysisUsage(AU);
}

bool AdvisedAllocator::runOnMachineFunction(MachineFunction &MF) {
  MachineRegisterInfo &MRI = MF.getRegInfo();
  MRI.freezeReservedRegs();
  RegisterClassInfo Classes;
  Classes.runOnMachineFunction(MF);
  RegisterAllocation *All = RegisterAllocation::of(
      getAnalysis<RegAllocEvictionAdvisorAnalysisLegacy>(),
      *MF.getFunction().getParent());
  auto F = std::unique_ptr<FunctionAllocation>(new FunctionAllocation{
      MF, getAnalysis<LiveIntervalsWrapperPass>().getLIS(),
      getAnalysis<VirtRegMapWrapperLegacy>().getVRM(),
      getAnalysis<LiveRegMatrixWrapperLegacy>().getLRM(), MRI,
      *MF.getSubtarget().getRegisterInfo(), Classes,
      &getAnalysis<MachineBlockFrequencyInfoWrapperPass>().getMBFI(),
      &getAnalysis<MachineLoopInfoWrapperPass>().getLI(), delegateCount(MRI)});
  if (allocate(*F, All))
    warn(MF);
  return true;
}

/// Returns a live range without a register; none if all have one.
Register AdvisedAllocator::allocate(FunctionAllocation &F,
                                    RegisterAllocation *All) {
  auto &MF = const_cast<MachineFunction &>(F.MF);
  auto &LSS = getAnalysis<LiveStacksWrapperLegacy>().getLS();
  auto &Tree = getAnalysis<MachineDominatorTreeWrapperPass>().getDomTree();
  auto &Profile = getAnalysis<ProfileSummaryInfoWrapperPass>().getPSI();
  VirtRegAuxInfo Weights(MF, F.LIS, F.VRM, *F.Loops, *F.Frequencies, &Profile);
  Weights.calculateSpillWeightsAndHints();
  const std::unique_ptr<Spiller> S(createInlineSpiller(
      {F.LIS, LSS, Tree, *F.Frequencies}, MF, F.VRM, Weights, &F.Matrix));
  const AllocatorTools Tools{
      Weights, *S, getAnalysis<LiveDebugVariablesWrapperLegacy>().getLDV(),
      getAnalysis<EdgeBundlesWrapperLegacy>().getEdgeBundles()};
  return FunctionAllocator(F, Tools, All).run();
}

void AdvisedAllocator::warn(const MachineFunction &MF) {
  ++LeftToGreedy;
  const std::string Text =
      "advised allocator: function " + MF.getName().str() +
      ": expected a register for every live range, got none for one; LLVM's "
      "greedy allocator takes the function (" +
      std::to_string(LeftToGreedy) + " so far)";
  passpilot::warn(MF.getFunction().getContext(), Text);
}

FunctionPass *createAdvisedAllocator() { return new AdvisedAllocator; }

const RegisterRegAlloc Named("advised", "advised register allocator",
                             createAdvisedAllocator);

const RegisterTargetPassConfigCallback
    Behind([](TargetMachine &, PassManagerBase &, TargetPassConfig *C) {
      C->insertPass(&AdvisedAllocator::ID, &RAGreedyLegacyID);
    });

} // namespace

void useChosenAllocator() {
  static std::mutex Mutex;
  const std::lock_guard<std::mutex> Lock(Mutex);
  const auto Chosen = chosenAllocator();
  if (Chosen && RegisterRegAlloc::getDefault() != Chosen)
    RegisterRegAlloc::setDefault(Chosen);
}

} // namespace passpilot
