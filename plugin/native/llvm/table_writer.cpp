// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "table_writer.h"

#include "compat.h"
#include "llvm/CodeGen/MachineFrameInfo.h"
#include "llvm/CodeGen/MachineInstrBuilder.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetLowering.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/MC/MCAsmInfo.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;

namespace passpilot {

static bool hasDirectives(const MachineInstr &I) {
  return StringRef(I.getOperand(InlineAsm::MIOp_AsmString).getSymbolName())
      .contains(".cfi_");
}

/// Whether XRay may put a call in front of a return or a tail call.
static bool isTraced(const MachineInstr &I) {
  return I.getOpcode() == TargetOpcode::PATCHABLE_RET ||
         I.getOpcode() == TargetOpcode::PATCHABLE_TAIL_CALL;
}

static bool hasMemoryOperand(const MachineInstr &I) {
  return any_of(I.getDesc().operands(), [](const MCOperandInfo &O) {
    return O.OperandType == MCOI::OPERAND_MEMORY;
  });
}

TableWriter::TableWriter(MachineFunction &MF, bool Faults)
    : Initial(asmInfoOf(MF.getTarget()).getInitialFrameState()), MF(MF),
      Faults(Faults), TII(*MF.getSubtarget().getInstrInfo()),
      TRI(*MF.getSubtarget().getRegisterInfo()),
      SP(MF.getSubtarget()
             .getTargetLowering()
             ->getStackPointerRegisterToSaveRestore()),
      IsX86(MF.getTarget().getTargetTriple().isX86()) {}

bool TableWriter::follow(const UnwindRow &Before) {
  UnwindRow True = Initial;
  Last = Before;
  bool Same = false;
  for (MachineBasicBlock &Block : MF) {
    if (Block.isBeginSection()) { // has an entry of its own
      True = Last = Initial;
      Same = true;
    }
    for (MachineInstr &I : Block.instrs()) {
      if (I.isCFIInstruction()) {
        const unsigned Index = I.getOperand(0).getCFIIndex();
        if (I.isBundled() ||
            !True.apply(MF.getFrameInstructions()[Index], Initial))
          return false;
        Replaced.push_back(&I);
        Same = false;
      } else if (I.isInlineAsm() && hasDirectives(I)) {
        return false;
      } else if (!Same && !I.isBundledWithPred() && stops(I)) {
        if (auto Directives = True.after(Last); !Directives.empty())
          Places.emplace_back(&I, std::move(Directives));
        if (!First)
          First = True;
        Last = True;
        Same = true;
      }
    }
  }
  return true;
}

bool TableWriter::write() {
  for (auto &[Stop, Directives] : Places)
    for (const MCCFIInstruction &D : Directives)
      BuildMI(*Stop->getParent(), Stop, DebugLoc(),
              TII.get(TargetOpcode::CFI_INSTRUCTION))
          .addCFIIndex(MF.addFrameInst(D));
  for (MachineInstr *Old : Replaced)
    Old->eraseFromParent();
  return !Replaced.empty() || !Places.empty();
}

/// Whether an unwinder can find the program at \p I.
bool TableWriter::stops(const MachineInstr &I) const {
  if (I.isMetaInstruction())
    return false;
  if (I.isInlineAsm() || I.isBundle() || isTraced(I))
    return true;
  if (I.isReturn())
    return I.isCall() && Faults && canFault(I); // tail calls
  return I.isCall() || becomesSeveral(I) || (Faults && canFault(I));
}

/// Whether the printer may write several instructions, and calls: X86's pseudo
/// instructions have the encoding 0, as the address of a thread's variable,
/// which has none of the flags asked here.
bool TableWriter::becomesSeveral(const MachineInstr &I) const {
  constexpr uint64_t Encoding = 0x7f;
  return (I.isPseudo() &&
          (I.mayLoadOrStore() || I.hasUnmodeledSideEffects())) ||
         (IsX86 && !(I.getDesc().TSFlags & Encoding));
}

bool TableWriter::canFault(const MachineInstr &I) const {
  const bool Uses = I.mayLoadOrStore() || I.hasUnmodeledSideEffects();
  if (!Uses)
    return I.mayRaiseFPException();
  if (IsX86) // pushes and pops touch only the stack
    return hasMemoryOperand(I) || !I.modifiesRegister(SP, &TRI);
  return !(I.getFlag(MachineInstr::FrameSetup) ||
           I.getFlag(MachineInstr::FrameDestroy)) ||
         probes(I);
}

/// Whether an instruction of a prologue or epilogue touches the stack for
/// other reasons than to save and restore registers.
bool TableWriter::probes(const MachineInstr &I) const {
  if (!I.mayLoadOrStore() || I.modifiesRegister(SP, &TRI))
    return false;
  return !I.readsRegister(SP, &TRI) ||
         none_of(MF.getFrameInfo().getCalleeSavedInfo(),
                 [&](const CalleeSavedInfo &C) {
                   return I.readsRegister(C.getReg(), &TRI) ||
                          I.modifiesRegister(C.getReg(), &TRI);
                 });
}

} // namespace passpilot
