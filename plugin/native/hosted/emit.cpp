// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Generates code from a HostedModule, set up as in llc.

#include "module.h"
#include "setup.h"
#include "target.h"

#include "../allocator/allocator_pass.h"
#include "../llvm/compat.h"
#include "../llvm/llvm_options.h"
#include "../llvm/option_gate.h"
#include "../llvm/register_allocation.h"
#include "../llvm/scheduling.h"
#include "llvm/ADT/Statistic.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/CodeGen/CommandFlags.h"
#include "llvm/CodeGen/MachineModuleInfo.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/OptBisect.h"
#include "llvm/IR/PassTimingInfo.h"
#include "llvm/MC/MCContext.h"
#include "llvm/Support/SaveAndRestore.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/Timer.h"
#include "llvm/Support/ToolOutputFile.h"
#include "llvm/Target/TargetLoweringObjectFile.h"

using namespace llvm;

namespace passpilot {

namespace {

/// Ends a code generation early, which LLVM does not support. stop() makes
/// every definition available_externally, which LLVM's machine passes skip, and
/// closes the gate for optional IR passes. The output is then useless. The
/// destructor restores the linkages.
class EmissionStop {
public:
  explicit EmissionStop(Module &M)
      : M(M), Gate(M.getContext().getOptPassGate()) {
    M.getContext().setOptPassGate(Gate);
  }
  ~EmissionStop() {
    M.getContext().setOptPassGate(Gate.Before);
    for (auto [F, Linkage] : Before)
      F->setLinkage(Linkage);
  }
  EmissionStop(const EmissionStop &) = delete;

  void stop() {
    if (Gate.Shut)
      return;
    Gate.Shut = true;
    const Function *Kept = M.getTargetTriple().isWasm() ? smallest() : nullptr;
    for (Function &F : M)
      if (!F.isDeclarationForLinker() && &F != Kept) {
        Before.push_back({&F, F.getLinkage()});
        F.setLinkage(GlobalValue::AvailableExternallyLinkage);
      }
  }
  bool stopped() const { return Gate.Shut; }

private:
  struct StopGate final : OptPassGate {
    explicit StopGate(OptPassGate &Before) : Before(Before) {}
    bool isEnabled() const override { return Shut || Before.isEnabled(); }
    bool shouldRunPass(StringRef Pass, StringRef IR) const override {
      return !Shut && Before.shouldRunPass(Pass, IR);
    }
    OptPassGate &Before;
    bool Shut = false;
  };

  /// WebAssembly's printer crashes at the end unless it has printed a function.
  const Function *smallest() const {
    const Function *Found = nullptr;
    for (const Function &F : M)
      if (!F.isDeclarationForLinker() &&
          (!Found || F.getInstructionCount() < Found->getInstructionCount()))
        Found = &F;
    return Found;
  }

  Module &M;
  StopGate Gate;
  std::vector<std::pair<Function *, GlobalValue::LinkageTypes>> Before;
};

/// Forwards passes to a pass manager and inserts one before the printer.
class LastPass final : public legacy::PassManagerBase {
public:
  LastPass(legacy::PassManagerBase &PM, std::vector<BlockFrequencies> *All)
      : PM(PM), All(All) {}
  void add(Pass *P) override {
    if (All && P->getPassName().ends_with("Assembly Printer"))
      PM.add(createBlockFrequenciesPass(*All));
    PM.add(P);
  }

private:
  legacy::PassManagerBase &PM;
  std::vector<BlockFrequencies> *All;
};

/// Whether the user wants to stop; interrupts the sessions if so.
bool interrupted(const StopPoll &Poll, const Sessions &Asked) {
  if (!Poll || !Poll())
    return false;
  for (const auto &[Point, S] : Asked)
    S->interrupt();
  return true;
}

std::optional<Reloc::Model> relocation(const std::string &Name) {
  if (Name.empty())
    return std::nullopt;
  const std::pair<const char *, Reloc::Model> Models[] = {
      {"static", Reloc::Static},
      {"pic", Reloc::PIC_},
      {"dynamic-no-pic", Reloc::DynamicNoPIC},
      {"ropi", Reloc::ROPI},
      {"rwpi", Reloc::RWPI},
      {"ropi-rwpi", Reloc::ROPI_RWPI}};
  for (const auto &[Known, Model] : Models)
    if (Name == Known)
      return Model;
  throw InputError(
      "relocation model: expected static, pic, dynamic-no-pic, ropi, rwpi or "
      "ropi-rwpi, got '" +
      Name + "'");
}

/// Checks a version as llc accepts it: "none", "2.38" or "3".
void checkBinutilsVersion(StringRef Text) {
  StringRef Rest = Text;
  unsigned Major, Minor;
  const bool Good =
      Rest.empty() || Rest == "none" ||
      (!Rest.consumeInteger(10, Major) && Major > 0 &&
       (Rest.empty() || (Rest.consume_front(".") &&
                         !Rest.consumeInteger(10, Minor) && Rest.empty())));
  if (!Good)
    throw InputError(
        "-binutils-version: expected 'none' or MAJOR.MINOR, got '" +
        Text.str() + "'");
}

MCTargetOptions::DwarfDirectory dwarfDirectory(std::optional<bool> Given) {
  if (!Given)
    return MCTargetOptions::DefaultDwarfDirectory;
  return *Given ? MCTargetOptions::EnableDwarfDirectory
                : MCTargetOptions::DisableDwarfDirectory;
}

llvm::TargetOptions machineOptions(const Triple &T, const EmitOptions &O) {
  checkBinutilsVersion(O.BinutilsVersion);
  llvm::TargetOptions Options = flagOptions(T);
  Options.BinutilsVersion =
      TargetMachine::parseBinutilsVersion(O.BinutilsVersion);
  MCTargetOptions &MC = Options.MCOptions;
  MC.ShowMCEncoding = O.ShowEncoding;
  MC.AsmVerbose = O.AsmVerbose;
  MC.PreserveAsmComments = O.PreserveAsmComments;
  MC.OutputAsmVariant = O.AsmVariant;
  MC.IASSearchPaths = O.IncludePaths;
  MC.InstPrinterOptions = O.PrinterOptions;
  MC.SplitDwarfFile = O.SplitDwarfFile;
  MC.MCUseDwarfDirectory = dwarfDirectory(O.DwarfDirectory);
  return Options;
}

/// Adds what llc tells LLVM's passes about the run-time libraries.
void addLibraries(legacy::PassManagerBase &PM, const Module &M,
                  const TargetMachine &TM, const EmitOptions &O) {
  TargetLibraryInfoImpl Library = librariesOf(M, TM);
  if (!O.SimplifyLibCalls)
    Library.disableAllFunctions();
  PM.add(new TargetLibraryInfoWrapperPass(Library));
  addRuntimeLibraries(PM, TM);
}

/// The names of LLVM's CodeGenFileType in messages.
constexpr const char *FileTypes[] = {"assembly", "an object file", "nothing"};

/// Adds the passes that write code to \p Code and \p SplitDwarf. Throws
/// InputError.
void addCodeGen(legacy::PassManagerBase &PM, TargetMachine &TM,
                const EmitOptions &O, raw_pwrite_stream &Code,
                raw_pwrite_stream &SplitDwarf) {
  auto *Machine = new MachineModuleInfoWrapperPass(&TM); // owned by the manager
  MCContext &MC = Machine->getMMI().getContext();
  std::string Errors;
  MC.setDiagnosticHandler([&](const SMDiagnostic &D, bool, const SourceMgr &,
                              std::vector<const MDNode *> &) {
    Errors += (Errors.empty() ? "" : "; ") + D.getMessage().str();
  }); // for errors before the passes set the context's handler
  const bool Refused = TM.addPassesToEmitFile(
      PM, Code, O.SplitDwarfOutput ? &SplitDwarf : nullptr, O.FileType,
      /*DisableVerify=*/true, Machine);
  if (Refused || !Errors.empty())
    throw InputError("target " + TM.getTargetTriple().str() +
                     ": expected it to emit " +
                     FileTypes[static_cast<size_t>(O.FileType)] +
                     ", got: " + (Errors.empty() ? "no" : Errors));
  TM.getObjFileLowering()->Initialize(MC, TM);
}

/// Prints the report of -time-passes.
void printTimes() {
  if (!TimePassesIsEnabled)
    return;
  reportAndResetTimings();
  auto OS = CreateInfoOutputFile();
  TimerGroup::printAll(*OS);
  TimerGroup::clearAll();
}

} // namespace

std::unique_ptr<TargetMachine> HostedModule::emitTarget(const EmitOptions &O) {
  auto Level = CodeGenOpt::getLevel(static_cast<int>(O.OptLevel));
  if (!Level)
    throw InputError("optimization level: expected 0 to 3, got " +
                     std::to_string(O.OptLevel));
  const Triple &T = M->getTargetTriple();
  auto Machine =
      makeTarget(T, cpuOf(O.Target), featuresOf(O.Target), machineOptions(T, O),
                 *Level, relocation(O.RelocationModel));
  if (!Machine)
    throw InputError(M->getModuleIdentifier() + ": " +
                     toString(Machine.takeError()));
  TargetMachine &TM = **Machine;
  if (auto Model = M->getCodeModel(); Model && !codegen::getExplicitCodeModel())
    TM.setCodeModel(*Model);
  if (auto Threshold = codegen::getExplicitLargeDataThreshold())
    TM.setLargeDataThreshold(*Threshold);
  if (codegen::getFloatABIForCalls() != FloatABI::Default)
    TM.Options.FloatABIType = codegen::getFloatABIForCalls();
  TM.Options.ObjectFilenameForDebug = O.OutputName;
  TM.Options.VerifyArgABICompliance = false; // as llc: no front end
  return std::move(*Machine);
}

Emitted HostedModule::emit(const EmitOptions &O, const Sessions &Asked,
                           const StopPoll &Poll) {
  const OptionsInUse Used;
  if (std::string Errors = O.Verify ? verify() : ""; !Errors.empty())
    throw InputError(M->getModuleIdentifier() +
                     ": expected a module that verifies, got: " + Errors);
  RemarksFile Remarks = openRemarks(*Context, O.Remarks);
  std::unique_ptr<TargetMachine> TM = emitTarget(O);
  if (DataLayout Layout = TM->createDataLayout(); M->getDataLayout() != Layout)
    M->setDataLayout(Layout);
  setFunctionAttributes(*M, cpuOf(O.Target), featuresOf(O.Target));
  Emitted Out;
  EmissionStop Stop(*M);
  {
    raw_svector_ostream Code(Out.Code), SplitDwarf(Out.SplitDwarf);
    std::optional<RegisterAllocation> Advised; // must outlive the passes
    legacy::PassManager PM;
    addLibraries(PM, *M, *TM, O);
    useChosenAllocator();
    if (!Asked.empty() || O.Costs) {
      liftEvictionLimit();
      Advised.emplace(*Context, AllocationSessions::find([&](const char *P) {
        return sessionAt(Asked, P);
      }));
      if (Advised->Sessions.Schedule)
        useAdvisedScheduler();
      Advised->Costs = O.Costs ? &Out.Costs : nullptr;
      RegisterAllocation::install(
          PM, [&](Module &) -> RegisterAllocation & { return *Advised; });
    }
    LastPass Codegen(PM, O.Frequencies ? &Out.Frequencies : nullptr);
    {
      const OptionHold Options(OptionReader::PassConfig,
                               O.Outlines ? OptionTexts{OutlinesAll}
                                          : OptionTexts{});
      addCodeGen(Codegen, *TM, O, Code, SplitDwarf);
    }
    cl::PrintOptionValues();
    const SaveAndRestore Polling(OnQuery, std::function<void()>([&] {
                                   if (interrupted(Poll, Asked) ||
                                       (Advised && Advised->stopped()))
                                     Stop.stop();
                                 }));
    PM.run(*M);
    OnQuery(); // a last poll
  }
  if (Stop.stopped()) {
    Diagnosed.clear(); // the errors concern functions without code
    return {};
  }
  throwDiagnosed();
  printTimes();
  if (Remarks)
    Remarks->keep();
  return Out;
}

} // namespace passpilot
