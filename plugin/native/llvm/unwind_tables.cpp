// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "unwind_tables.h"

#include "unwind_row.h"

#include "llvm/CodeGen/MachineFrameInfo.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/MachineInstrBuilder.h"
#include "llvm/CodeGen/TargetFrameLowering.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetLowering.h"
#include "llvm/CodeGen/TargetPassConfig.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCAsmInfo.h"
#include "llvm/PassRegistry.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Target/RegisterTargetPassConfigCallback.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;

namespace passpilot {

namespace {

enum class Mode { Full, Faults, Calls, Exceptions, None };

cl::opt<Mode> Wanted(
    StringRef(UnwindName), cl::desc("Where unwind tables are exact"),
    cl::init(Mode::Full),
    cl::values(
        clEnumValN(Mode::Full, "full", "everywhere, as LLVM writes them"),
        clEnumValN(Mode::Faults, "faults", "at calls and at what can fault"),
        clEnumValN(Mode::Calls, "calls", "at calls"),
        clEnumValN(Mode::Exceptions, "exceptions",
                   "at calls; none for functions that no exception passes"),
        clEnumValN(Mode::None, "none",
                   "at calls; none for functions without a handler")));

Mode modeOf(const Function &F) {
  Mode M = Wanted;
  const StringRef Own = F.getFnAttribute(UnwindName).getValueAsString();
  if (!Own.empty() && Wanted.getParser().parse(Wanted, UnwindName, Own, M))
    return Wanted;
  return M;
}

/// The pass of LLVM's behind which no code moves any more; null for targets
/// that are left alone.
const char *lastPass(const Triple &T) {
  if (T.isX86() || T.isAArch64() || T.isRISCV())
    return "unpack-mi-bundles";
  return T.isARM() || T.isThumb() ? "arm-low-overhead-loops" : nullptr;
}

/// Whether the target writes .eh_frame.
bool hasTables(const TargetMachine &TM) {
  const Triple &T = TM.getTargetTriple();
  return lastPass(T) && T.isOSBinFormatELF() &&
         TM.getMCAsmInfo()->getExceptionHandlingType() ==
             ExceptionHandling::DwarfCFI;
}

/// One function's directives: all are removed, and the rows that they describe
/// are written again where the program can stop.
class TableWriter {
public:
  TableWriter(MachineFunction &MF, Mode Exact)
      : MF(MF), Exact(Exact), TII(*MF.getSubtarget().getInstrInfo()),
        TRI(*MF.getSubtarget().getRegisterInfo()),
        SP(MF.getSubtarget()
               .getTargetLowering()
               ->getStackPointerRegisterToSaveRestore()),
        IsX86(MF.getTarget().getTargetTriple().isX86()),
        Initial(MF.getTarget().getMCAsmInfo()->getInitialFrameState()) {}

  /// Returns whether the function has changed: it does not if there is a
  /// directive that no row can hold, or one of inline assembly.
  bool run() {
    if (!follow())
      return false;
    for (auto &[Stop, Directives] : Places)
      for (const MCCFIInstruction &D : Directives)
        BuildMI(*Stop->getParent(), Stop, DebugLoc(),
                TII.get(TargetOpcode::CFI_INSTRUCTION))
            .addCFIIndex(MF.addFrameInst(D));
    for (MachineInstr *Old : Replaced)
      Old->eraseFromParent();
    return !Replaced.empty();
  }

private:
  MachineFunction &MF;
  const Mode Exact;
  const TargetInstrInfo &TII;
  const TargetRegisterInfo &TRI;
  const Register SP;
  const bool IsX86;
  const UnwindRow Initial;
  /// Instructions where the program can stop, and the directives before them.
  std::vector<std::pair<MachineInstr *, std::vector<MCCFIInstruction>>> Places;
  std::vector<MachineInstr *> Replaced;

  /// Finds the places. Returns false to leave the function alone.
  bool follow() {
    UnwindRow True = Initial, Written = Initial;
    bool Same = true;
    for (MachineBasicBlock &Block : MF) {
      if (Block.isBeginSection()) { // has an entry of its own
        True = Written = Initial;
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
          if (auto Directives = True.after(Written); !Directives.empty())
            Places.emplace_back(&I, std::move(Directives));
          Written = True;
          Same = true;
        }
      }
    }
    return true;
  }

  static bool hasDirectives(const MachineInstr &I) {
    return StringRef(I.getOperand(InlineAsm::MIOp_AsmString).getSymbolName())
        .contains(".cfi_");
  }

  /// Whether an unwinder can find the program at \p I.
  bool stops(const MachineInstr &I) const {
    if (I.isMetaInstruction())
      return false;
    if (I.isInlineAsm() || I.isBundle() || isTraced(I))
      return true;
    if (I.isReturn())
      return I.isCall() && Exact == Mode::Faults && canFault(I); // tail calls
    return I.isCall() || becomesSeveral(I) ||
           (Exact == Mode::Faults && canFault(I));
  }

  /// Whether XRay may put a call in front of a return or a tail call.
  static bool isTraced(const MachineInstr &I) {
    return I.getOpcode() == TargetOpcode::PATCHABLE_RET ||
           I.getOpcode() == TargetOpcode::PATCHABLE_TAIL_CALL;
  }

  /// Whether the printer may write several instructions, and calls: X86's
  /// pseudo instructions have the encoding 0, as the address of a thread's
  /// variable, which has none of the flags asked here.
  bool becomesSeveral(const MachineInstr &I) const {
    constexpr uint64_t Encoding = 0x7f;
    return (I.isPseudo() &&
            (I.mayLoadOrStore() || I.hasUnmodeledSideEffects())) ||
           (IsX86 && !(I.getDesc().TSFlags & Encoding));
  }

  bool canFault(const MachineInstr &I) const {
    const bool Uses = I.mayLoadOrStore() || I.hasUnmodeledSideEffects();
    if (!Uses)
      return I.mayRaiseFPException();
    if (IsX86) // pushes and pops touch only the stack
      return hasMemoryOperand(I) || !I.modifiesRegister(SP, &TRI);
    return !(I.getFlag(MachineInstr::FrameSetup) ||
             I.getFlag(MachineInstr::FrameDestroy)) ||
           probes(I);
  }

  static bool hasMemoryOperand(const MachineInstr &I) {
    return any_of(I.getDesc().operands(), [](const MCOperandInfo &O) {
      return O.OperandType == MCOI::OPERAND_MEMORY;
    });
  }

  /// Whether an instruction of a prologue or epilogue touches the stack for
  /// other reasons than to save and restore registers.
  bool probes(const MachineInstr &I) const {
    if (!I.mayLoadOrStore() || I.modifiesRegister(SP, &TRI))
      return false;
    return !I.readsRegister(SP, &TRI) ||
           none_of(MF.getFrameInfo().getCalleeSavedInfo(),
                   [&](const CalleeSavedInfo &C) {
                     return I.readsRegister(C.getReg(), &TRI) ||
                            I.modifiesRegister(C.getReg(), &TRI);
                   });
  }
};

class UnwindTables final : public MachineFunctionPass {
public:
  static char ID;
  UnwindTables() : MachineFunctionPass(ID) {}
  StringRef getPassName() const override { return "Unwind Tables"; }
  void getAnalysisUsage(AnalysisUsage &AU) const override {
    AU.setPreservesAll();
    MachineFunctionPass::getAnalysisUsage(AU);
  }
  bool doInitialization(Module &) override {
    Warned = false;
    return false;
  }
  bool runOnMachineFunction(MachineFunction &MF) override {
    Function &F = MF.getFunction();
    const Mode M = modeOf(F);
    if (M == Mode::Full || F.hasFnAttribute(Attribute::Naked))
      return false;
    if (!hasTables(MF.getTarget()))
      return warn(MF);
    if (M >= Mode::Exceptions && !F.hasPersonalityFn())
      dropEntry(F, M);
    // Without an entry, the directives are for .debug_frame, which is not
    // loaded.
    return F.needsUnwindTableEntry() && TableWriter(MF, M).run();
  }

private:
  bool Warned = false;

  /// The printer asks these attributes next. Nobody else does so later.
  static void dropEntry(Function &F, Mode M) {
    if (M == Mode::None)
      F.setDoesNotThrow();
    if (F.doesNotThrow())
      F.removeFnAttr(Attribute::UWTable);
  }

  /// Warns who has set the option; policies set it for all targets.
  bool warn(MachineFunction &MF) {
    if (Wanted.getPosition() && !std::exchange(Warned, true))
      MF.getFunction().getContext().diagnose(DiagnosticInfoGeneric(
          "unwind tables: expected an ELF target of X86, AArch64, RISC-V or "
          "ARM with .eh_frame, got " +
              MF.getTarget().getTargetTriple().str() +
              ": its tables stay as they are",
          DS_Warning));
    return false;
  }
};

char UnwindTables::ID = 0;

const RegisterPass<UnwindTables> Registered("unwind-tables", "Unwind Tables");

const RegisterTargetPassConfigCallback
    Behind([](TargetMachine &TM, PassManagerBase &, TargetPassConfig *C) {
      const char *Last = lastPass(TM.getTargetTriple());
      const PassInfo *Info =
          Last ? PassRegistry::getPassRegistry()->getPassInfo(StringRef(Last))
               : nullptr;
      if (Info)
        C->insertPass(Info->getTypeInfo(), &UnwindTables::ID);
    });

} // namespace

} // namespace passpilot
