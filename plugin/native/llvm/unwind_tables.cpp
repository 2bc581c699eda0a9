// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "unwind_tables.h"

#include "compat.h"
#include "shared_entries.h"
#include "table_writer.h"
#include "tool.h"

#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/TargetPassConfig.h"
#include "llvm/IR/EHPersonalities.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCAsmInfo.h"
#include "llvm/PassRegistry.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Target/RegisterTargetPassConfigCallback.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;

namespace passpilot {

namespace {

enum class Mode { Full, Faults, Shared, Linked, Calls, Exceptions, None };

bool Links = false;

cl::opt<Mode> Wanted(
    StringRef(UnwindName), cl::desc("Where unwind tables are exact"),
    cl::init(Mode::Full),
    cl::values(
        clEnumValN(Mode::Full, "full", "everywhere, as LLVM writes them"),
        clEnumValN(Mode::Faults, "faults", "at calls and at what can fault"),
        clEnumValN(Mode::Shared, "shared",
                   "as faults, and neighbours share an entry"),
        clEnumValN(Mode::Linked, "linked",
                   "shared in link-time optimization, else faults"),
        clEnumValN(Mode::Calls, "calls", "at calls"),
        clEnumValN(Mode::Exceptions, "exceptions",
                   "at calls; none for functions that no exception passes"),
        clEnumValN(Mode::None, "none",
                   "at calls; none for functions without a handler")));

/// What \p M means in this tool.
Mode resolved(Mode M) {
  return M != Mode::Linked ? M : Links ? Mode::Shared : Mode::Faults;
}

Mode modeOf(const Function &F) {
  Mode M = Wanted;
  const StringRef Own = F.getFnAttribute(UnwindName).getValueAsString();
  if (!Own.empty() && Wanted.getParser().parse(Wanted, UnwindName, Own, M))
    return resolved(Wanted);
  return resolved(M);
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
         asmInfoOf(TM).getExceptionHandlingType() ==
             ExceptionHandling::DwarfCFI;
}

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
    if (!F.needsUnwindTableEntry())
      return false;
    TableWriter Writer(MF, M <= Mode::Shared);
    return Writer.follow(Writer.Initial) && Writer.write();
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

  /// Warns who has set the option, if there is an entry that it cannot change;
  /// policies set it for all targets.
  bool warn(MachineFunction &MF) {
    if (Wanted.getPosition() && MF.getFunction().needsUnwindTableEntry() &&
        !std::exchange(Warned, true))
      passpilot::warn(
          MF.getFunction().getContext(),
          "unwind tables: expected an ELF target of X86, AArch64, RISC-V or "
          "ARM with .eh_frame, got " +
              MF.getTarget().getTargetTriple().str() +
              ": its tables stay as they are");
    return false;
  }
};

char UnwindTables::ID = 0;

const RegisterPass<UnwindTables> Registered("unwind-tables", "Unwind Tables");

void insert(TargetMachine &TM, PassManagerBase &, TargetPassConfig *C) {
  const char *Last = lastPass(TM.getTargetTriple());
  const PassInfo *Info =
      Last ? PassRegistry::getPassRegistry()->getPassInfo(StringRef(Last))
           : nullptr;
  if (!Info)
    return;
  C->insertPass(Info->getTypeInfo(), &UnwindTables::ID);
  if (resolved(Wanted) == Mode::Shared && hasTables(TM))
    C->insertPass(&UnwindTables::ID, &SharedEntriesID);
}

} // namespace

bool writesAllRows(const Function &F) {
  return modeOf(F) == Mode::Full && F.needsUnwindTableEntry();
}

bool sharesEntry(const MachineFunction &MF) {
  const Function &F = MF.getFunction();
  return modeOf(F) == Mode::Shared && !F.hasFnAttribute(Attribute::Naked) &&
         F.needsUnwindTableEntry() && MF.getLandingPads().empty() &&
         (!F.hasPersonalityFn() ||
          isNoOpWithoutInvoke(classifyEHPersonality(F.getPersonalityFn())));
}

void registerUnwindTables(bool InLinker) {
  Links = InLinker;
  static const RegisterTargetPassConfigCallback Callback(insert);
}

} // namespace passpilot
