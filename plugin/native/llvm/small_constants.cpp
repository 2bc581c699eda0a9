// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "small_constants.h"

#include "unwind_tables.h"

#include "llvm/CodeGen/MachineFrameInfo.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/MachineInstrBuilder.h"
#include "llvm/CodeGen/Passes.h"
#include "llvm/CodeGen/TargetFrameLowering.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetPassConfig.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Target/RegisterTargetPassConfigCallback.h"
#include "llvm/Target/TargetMachine.h"

#include <map>

using namespace llvm;

namespace passpilot {

namespace {

cl::opt<bool>
    Moves("move-small-constants",
          cl::desc("On x86-64, load small constants by mov, not by push and "
                   "pop, where these need rows of the unwind table"));

/// Runs between the prologues and the expansion of pseudo instructions, which
/// writes the pushes and their rows.
class SmallConstants final : public MachineFunctionPass {
public:
  static char ID;
  SmallConstants() : MachineFunctionPass(ID) {}
  StringRef getPassName() const override { return "Small Constants"; }
  void getAnalysisUsage(AnalysisUsage &AU) const override {
    AU.setPreservesCFG();
    MachineFunctionPass::getAnalysisUsage(AU);
  }
  bool runOnMachineFunction(MachineFunction &MF) override {
    const TargetSubtargetInfo &Subtarget = MF.getSubtarget();
    if (!Moves || !writesAllRows(MF.getFunction()) ||
        Subtarget.getFrameLowering()->hasFP(MF)) // no row is about the stack
      return false;
    const TargetInstrInfo &TII = *Subtarget.getInstrInfo();
    bool Changed = false;
    for (MachineBasicBlock &Block : MF)
      for (MachineInstr &I : Block) {
        const StringRef Name = TII.getName(I.getOpcode());
        if (Name != "MOV32ImmSExti8" && Name != "MOV64ImmSExti8")
          continue;
        I.setDesc(TII.get(opcodeOf(
            TII, Name.starts_with("MOV32") ? "MOV32ri" : "MOV64ri32")));
        Changed = true;
      }
    return Changed;
  }

private:
  std::map<StringRef, unsigned> Opcodes;

  /// LLVM's headers with the numbers are private.
  unsigned opcodeOf(const TargetInstrInfo &TII, StringRef Name) {
    auto [Found, IsNew] = Opcodes.try_emplace(Name, 0);
    while (IsNew && TII.getName(Found->second) != Name)
      ++Found->second;
    return Found->second;
  }
};

char SmallConstants::ID = 0;

const RegisterPass<SmallConstants> Registered("small-constants",
                                              "Small Constants");

void insert(TargetMachine &TM, PassManagerBase &, TargetPassConfig *C) {
  if (TM.getTargetTriple().getArch() == Triple::x86_64)
    C->insertPass(&PrologEpilogCodeInserterID, &SmallConstants::ID);
}

} // namespace

void registerSmallConstants() {
  static const RegisterTargetPassConfigCallback Callback(insert);
}

} // namespace passpilot
