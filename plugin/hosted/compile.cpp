// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pipelines and code generation over a HostedModule, set up as opt and llc do.

#include "module.h"

#include "../llvm/compilation.h"
#include "../llvm/options.h"
#include "../llvm/register_allocation.h"
#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/Analysis/CGSCCPassManager.h"
#include "llvm/Analysis/LoopAnalysisManager.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/CodeGen/CommandFlags.h"
#include "llvm/IR/LLVMRemarkStreamer.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/PassInstrumentation.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Passes/StandardInstrumentations.h"
#include "llvm/Plugins/PassPlugin.h"
#include "llvm/Remarks/HotnessThresholdParser.h"
#include "llvm/Support/ToolOutputFile.h"

#include <csignal>

using namespace llvm;

namespace passpilot {

std::unique_ptr<TargetMachine>
HostedModule::target(const TargetOptions &O, CodeGenOptLevel Level,
                     std::optional<Reloc::Model> Relocation,
                     std::string &Error) {
  forgetTargets();
  const Triple &T = M->getTargetTriple();
  const Target *Found = TargetRegistry::lookupTarget(T, Error);
  if (!Found)
    return nullptr;
  return std::unique_ptr<TargetMachine>(Found->createTargetMachine(
      T, O.CPU.empty() ? codegen::getCPUStr() : O.CPU,
      O.Features.empty() ? codegen::getFeaturesStr() : O.Features,
      codegen::InitTargetOptionsFromCodeGenFlags(T),
      Relocation ? Relocation : codegen::getExplicitRelocModel(),
      codegen::getExplicitCodeModel(), Level));
}

namespace {

[[noreturn]] void throwInput(const std::string &What, Error E) {
  throw InputError(What + ": " + toString(std::move(E)));
}

/// The four analysis managers and the pass builder, wired as in opt.
class Pipeline {
public:
  Pipeline(Module &M, TargetMachine *TM, const PipelineOptions &O)
      : TLII(M.getTargetTriple()),
        SI(M.getContext(), O.DebugPassManager, O.VerifyEach),
        PB(TM, {}, std::nullopt, &PIC) {
    SI.registerCallbacks(PIC, &MAM);
    for (const std::string &Path : O.PassPlugins) {
      auto Plugin = PassPlugin::Load(Path);
      if (!Plugin)
        throwInput("-load-pass-plugin " + Path, Plugin.takeError());
      Plugin->registerPassBuilderCallbacks(PB);
    }
    AAManager AA;
    if (Error E = PB.parseAAPipeline(AA, O.AAPipeline))
      throwInput("-aa-pipeline", std::move(E));
    FAM.registerPass([&] { return std::move(AA); });
    FAM.registerPass([&] { return TargetLibraryAnalysis(TLII); });
  }

  void parse(const std::string &Text) {
    PB.registerModuleAnalyses(MAM);
    PB.registerCGSCCAnalyses(CGAM);
    PB.registerFunctionAnalyses(FAM);
    PB.registerLoopAnalyses(LAM);
    PB.crossRegisterProxies(LAM, FAM, CGAM, MAM);
    if (Text.empty())
      return;
    if (Error E = PB.parsePassPipeline(MPM, Text))
      throwInput("-passes", std::move(E));
  }

  /// Prints what -print-pipeline-passes asks for; true if it did.
  bool print() {
    if (!PrintPipelinePasses)
      return false;
    MPM.printPipeline(outs(), [&](StringRef Class) {
      StringRef Name = PIC.getPassNameForClassName(Class);
      return Name.empty() ? Class : Name;
    });
    outs() << "\n";
    outs().flush();
    return true;
  }

  // Declared in this order: the managers die before what they refer to.
  TargetLibraryInfoImpl TLII;
  PassInstrumentationCallbacks PIC;
  LoopAnalysisManager LAM;
  FunctionAnalysisManager FAM;
  CGSCCAnalysisManager CGAM;
  ModuleAnalysisManager MAM;
  StandardInstrumentations SI;
  PassBuilder PB;
  ModulePassManager MPM;
};

/// Lets passes be skipped once the compilation has failed or shall end.
void stopOn(PassInstrumentationCallbacks &PIC, Session *Inline,
            const StopPoll &Poll, bool &Interrupted) {
  PIC.registerShouldRunOptionalPassCallback(
      [Inline, &Poll, &Interrupted](StringRef, Any) {
        if (!Interrupted && Poll && Poll()) {
          Interrupted = true;
          if (Inline)
            Inline->interrupt();
        }
        return !Interrupted && !(Inline && Inline->stopped());
      });
}

/// LLVM takes SIGINT over when it first opens an output file; it is Python's.
class KeepInterrupt {
public:
  KeepInterrupt() { sigaction(SIGINT, nullptr, &Before); }
  ~KeepInterrupt() { sigaction(SIGINT, &Before, nullptr); }

private:
  struct sigaction Before;
};

Expected<LLVMRemarkFileHandle> openRemarks(LLVMContext &Context,
                                           const PipelineOptions &O) {
  KeepInterrupt Mine;
  return setupLLVMOptimizationRemarks(Context, O.RemarksFile, O.RemarksFilter,
                                      O.RemarksFormat, O.RemarksWithHotness);
}

} // namespace

std::vector<std::string> HostedModule::optimize(const std::string &Text,
                                                Session *Inline,
                                                const PipelineOptions &O,
                                                const StopPoll &Poll) {
  std::vector<std::string> Warnings;
  const Triple &T = M->getTargetTriple();
  std::unique_ptr<TargetMachine> TM;
  if (T.getArch() != Triple::UnknownArch) {
    std::string Error;
    TM = target(O.Target, CodeGenOptLevel::None, std::nullopt, Error);
    if (!TM)
      Warnings.push_back("failed to create target machine for '" + T.str() +
                         "': " + Error);
  } else if (!T.getArchName().empty() && T.getArchName() != "unknown") {
    throw InputError("triple " + T.str() +
                     ": expected an architecture that LLVM knows, got '" +
                     T.getArchName().str() + "'; use -mtriple");
  }
  codegen::setFunctionAttributes(
      O.Target.CPU.empty() ? codegen::getCPUStr() : O.Target.CPU,
      O.Target.Features.empty() ? codegen::getFeaturesStr() : O.Target.Features,
      *M);
  auto Remarks = openRemarks(*Context, O);
  if (!Remarks)
    throwInput("-pass-remarks-output", Remarks.takeError());
  bool Interrupted = false;
  {
    Pipeline P(*M, TM.get(), O);
    std::optional<Compilation> Advised;
    if (Inline) {
      liftGrowthLimit();
      Advised.emplace(*M, P.MAM, *Inline);
    }
    stopOn(P.PIC, Inline, Poll, Interrupted);
    P.parse(Text);
    if (P.print())
      return Warnings;
    P.MPM.run(*M, P.MAM);
    if (TimePassesIsEnabled)
      P.SI.getTimePasses().print();
  }
  if (Interrupted || (Inline && Inline->stopped()))
    return Warnings;
  throwDiagnosed();
  if (O.Verify)
    if (std::string Errors = verify(); !Errors.empty())
      throw CompilationError(
          "pipeline " + Text +
          ": expected a module that verifies, got: " + Errors);
  if (*Remarks)
    (*Remarks)->keep();
  return Warnings;
}

static std::optional<Reloc::Model> relocation(const std::string &Name) {
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

SmallVector<char, 0> HostedModule::emit(const EmitOptions &O, Session *Evict,
                                        Session *Priority,
                                        const StopPoll &Poll) {
  std::string Error;
  auto Level = CodeGenOpt::getLevel(static_cast<int>(O.OptLevel));
  if (!Level)
    throw InputError("optimization level: expected 0 to 3, got " +
                     std::to_string(O.OptLevel));
  auto TM = target(O.Target, *Level, relocation(O.RelocationModel), Error);
  if (!TM)
    throw InputError("module " + M->getModuleIdentifier() +
                     ": expected a target triple that LLVM "
                     "knows, got '" +
                     M->getTargetTriple().str() + "': " + Error);
  TM->Options.MCOptions.AsmVerbose = true; // as llc does
  TM->Options.MCOptions.PreserveAsmComments = true;
  if (M->getDataLayout().isDefault())
    M->setDataLayout(TM->createDataLayout());
  SmallVector<char, 0> Bytes;
  {
    raw_svector_ostream OS(Bytes);
    std::optional<RegisterAllocation> Advised;
    legacy::PassManager PM;
    if (Evict || Priority) {
      liftEvictionLimit();
      Advised.emplace(*Context, Evict, Priority);
      Advised->install(PM);
    }
    PM.add(new TargetLibraryInfoWrapperPass(
        TargetLibraryInfoImpl(M->getTargetTriple())));
    if (TM->addPassesToEmitFile(PM, OS, nullptr,
                                O.Assembly ? CodeGenFileType::AssemblyFile
                                           : CodeGenFileType::ObjectFile))
      throw InputError(
          "target " + M->getTargetTriple().str() + ": expected it to emit " +
          (O.Assembly ? "assembly" : "an object file") + ", got none");
    PM.run(*M);
  }
  if (Poll)
    Poll();
  throwDiagnosed();
  return Bytes;
}

} // namespace passpilot
