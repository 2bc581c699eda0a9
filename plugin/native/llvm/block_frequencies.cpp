// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "block_frequencies.h"

#include "llvm/CodeGen/MachineBlockFrequencyInfo.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineFunctionPass.h"

using namespace llvm;

namespace passpilot {

namespace {

class FrequenciesPass final : public MachineFunctionPass {
public:
  static char ID;
  explicit FrequenciesPass(std::vector<BlockFrequencies> &All)
      : MachineFunctionPass(ID), All(All) {}

  StringRef getPassName() const override { return "Block frequencies"; }
  void getAnalysisUsage(AnalysisUsage &AU) const override {
    AU.setPreservesAll();
    AU.addRequired<MachineBlockFrequencyInfoWrapperPass>();
    MachineFunctionPass::getAnalysisUsage(AU);
  }

  bool runOnMachineFunction(MachineFunction &MF) override {
    auto &Info = getAnalysis<MachineBlockFrequencyInfoWrapperPass>().getMBFI();
    BlockFrequencies &F = All.emplace_back();
    F.Function = MF.getName().str();
    for (const MachineBasicBlock &B : MF)
      F.Blocks.emplace_back(B.getNumber(),
                            Info.getBlockFreqRelativeToEntryBlock(&B));
    return false;
  }

private:
  std::vector<BlockFrequencies> &All;
};

char FrequenciesPass::ID = 0;

} // namespace

Pass *createBlockFrequenciesPass(std::vector<BlockFrequencies> &All) {
  return new FrequenciesPass(All);
}

} // namespace passpilot
