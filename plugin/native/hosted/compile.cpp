// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs pipelines on a HostedModule, set up as in opt.

#include "module.h"
#include "setup.h"
#include "target.h"

#include "../llvm/compat.h"
#include "../llvm/compat_plugin.h"
#include "../llvm/decisions.h"
#include "../llvm/inline_advisor.h"
#include "../llvm/llvm_options.h"
#include "../llvm/program_profile.h"
#include "../llvm/register_allocation.h"
#include "../llvm/user_pass.h"
#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/Analysis/CGSCCPassManager.h"
#include "llvm/Analysis/LoopAnalysisManager.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/CodeGen/CommandFlags.h"
#include "llvm/IR/PassInstrumentation.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Passes/StandardInstrumentations.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace llvm;

namespace passpilot {

namespace {

[[noreturn]] void throwInput(const std::string &What, Error E) {
  throw InputError(What + ": " + toString(std::move(E)));
}

/// The level of a pipeline that is default<LEVEL> and nothing else.
std::optional<Level> levelIn(StringRef Text) {
  if (!Text.consume_front("default<") || !Text.consume_back(">"))
    return std::nullopt;
  return levelNamed(Text);
}

/// What clang sets by level; LLVM's parser of default<LEVEL> sets its own.
PipelineTuningOptions tuningOf(StringRef Text, const PipelineOptions &O) {
  PipelineTuningOptions Tuning;
  const auto L = O.AsClang ? levelIn(Text) : std::nullopt;
  if (!L)
    return Tuning;
  Tuning.SLPVectorization = L->Speed > 1;
  Tuning.LoopVectorization = Tuning.SLPVectorization && L->Size < 2;
  Tuning.LoopUnrolling = Tuning.LoopInterleaving = Tuning.SLPVectorization;
  return Tuning;
}

UnitDecisions decisionsOf(const PipelineOptions &O) {
  UnitDecisions Decided;
  for (const auto &[Name, Words] : O.Functions)
    for (const std::string &Word : Words)
      if (!Decided.Functions[Name].add(Word))
        throw InputError("decisions for " + Name +
                         ": expected a decision about a function, got '" +
                         Word + "'");
  return Decided;
}

/// The four analysis managers and the pass builder, wired as in opt.
class PipelineRun {
public:
  PipelineRun(Module &M, TargetMachine *TM, UserPasses &Passes,
              const PipelineOptions &O, StringRef Text,
              std::vector<std::string> &Warnings)
      : Passes(Passes), TLII(M.getTargetTriple()),
        SI(M.getContext(), O.DebugPassManager),
        PB(TM, tuningOf(Text, O), std::nullopt, &PIC) {
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
    Passes.restart();
    Passes.Verify = O.Verify || O.VerifyEach;
    Passes.VerifyEach = O.VerifyEach;
    Passes.Debug = O.DebugPassManager;
    Passes.registerWith(PB, Text);
    if (!O.Functions.empty())
      registerDecisions(Passes, PB, decisionsOf(O));
    if (!O.Decisions.empty())
      if (Error E = registerDecisions(
              Passes, PB, O.Decisions,
              [&](Module &, const UnitDecisions *, const Misfit &Wrong) {
                if (!Wrong.Text.empty())
                  Warnings.push_back(Wrong.Text);
              }))
        throw InputError(toString(std::move(E)));
    if (O.Profile.empty())
      return;
    auto Reached = registerProfile(Passes, PB, O.Profile);
    if (!Reached)
      throw InputError(toString(Reached.takeError()));
    Profile = *Reached;
  }

  void parse(Module &M, const std::string &Text, const PipelineOptions &O) {
    PB.registerModuleAnalyses(MAM);
    PB.registerCGSCCAnalyses(CGAM);
    PB.registerFunctionAnalyses(FAM);
    PB.registerLoopAnalyses(LAM);
    PB.crossRegisterProxies(LAM, FAM, CGAM, MAM);
    for (const auto &[Point, Added] : O.At)
      if (Error E = Passes.at(PB, Point, Added))
        throwInput("--at " + Point, std::move(E));
    if (!O.Behind.empty()) {
      ModulePassManager Trial;
      if (Error E = checkPermitted(O.Behind))
        throwInput("--policy", std::move(E));
      if (Error E = Passes.parse(PB, Trial, O.Behind))
        throwInput("--policy", std::move(E));
      registerPipelineBehind(Passes, PB, O.Behind);
    }
    if (Text.empty())
      return;
    markForSize(M, Text);
    if (const auto L = O.AsClang ? levelIn(Text) : std::nullopt)
      MPM = PB.buildPerModuleDefaultPipeline(L->Pipeline);
    else if (Error E = Passes.parse(PB, MPM, Text))
      throwInput("-passes", std::move(E));
  }

  /// Prints what -print-pipeline-passes wants; true if the option is set.
  bool print() {
    if (!printsPipeline())
      return false;
    MPM.printPipeline(outs(), [&](StringRef Class) {
      StringRef Name = PIC.getPassNameForClassName(Class);
      return Name.empty() ? Class : Name;
    });
    outs() << "\n";
    outs().flush();
    return true;
  }

  UserPasses &Passes;
  std::shared_ptr<const bool> Profile; ///< whether it is taken up; may be null
  // The order matters: the managers are destroyed before what they use.
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

/// Skips optional passes once the compilation has failed or shall end.
void stopOn(PassInstrumentationCallbacks &PIC, Session *Inline,
            const StopPoll &Poll, bool &Interrupted) {
  PIC.registerShouldRunOptionalPassCallback(
      [Inline, &Poll, &Interrupted](StringRef, const Any &) {
        if (!Interrupted && Poll && Poll()) {
          Interrupted = true;
          if (Inline)
            Inline->interrupt();
        }
        return !Interrupted && !(Inline && Inline->stopped());
      });
}

/// The target machine for \p T; null if there is none. A target that LLVM was
/// built without is a warning, as in opt.
std::unique_ptr<TargetMachine> machineFor(const Triple &T,
                                          const passpilot::TargetOptions &O,
                                          std::vector<std::string> &Warnings) {
  if (T.getArch() != Triple::UnknownArch) {
    auto Machine = makeTarget(T, cpuOf(O), featuresOf(O), flagOptions(T),
                              CodeGenOptLevel::None, {});
    if (Machine)
      return std::move(*Machine);
    Warnings.push_back("failed to create target machine for '" + T.str() +
                       "': " + toString(Machine.takeError()));
  } else if (!T.getArchName().empty() && T.getArchName() != "unknown") {
    throw InputError("triple " + T.str() +
                     ": expected an architecture that LLVM knows, got '" +
                     T.getArchName().str() + "'; use -mtriple");
  }
  return nullptr;
}

} // namespace

std::vector<std::string> HostedModule::optimize(const std::string &Text,
                                                const Sessions &Asked,
                                                UserPasses *Given,
                                                const PipelineOptions &O,
                                                const StopPoll &Poll) {
  const OptionsInUse Used;
  std::vector<std::string> Warnings;
  Session *const Inline = sessionAt(Asked, "inline");
  UserPasses None;
  UserPasses &Passes = Given ? *Given : None;
  const std::unique_ptr<TargetMachine> TM =
      machineFor(M->getTargetTriple(), O.Target, Warnings);
  setFunctionAttributes(*M, cpuOf(O.Target), featuresOf(O.Target));
  RemarksFile Remarks = openRemarks(*Context, O.Remarks);
  bool Interrupted = false;
  {
    PipelineRun P(*M, TM.get(), Passes, O, Text, Warnings);
    std::optional<Compilation> Advised;
    if (Inline) {
      Advised.emplace(*M, P.MAM, *Inline, Passes.gate());
      P.MAM.registerPass(
          [] { return PluginInlineAdvisorAnalysis(Compilation::advisor); });
    }
    stopOn(P.PIC, Inline, Poll, Interrupted);
    Passes.Stopped = [&] {
      return Interrupted || (Inline && Inline->stopped());
    };
    P.parse(*M, Text, O);
    for (const std::string &Point : Passes.unreached())
      Warnings.push_back("--at " + Point + ": the pipeline " + Text +
                         " has no such point");
    if (P.Profile && !*P.Profile)
      Warnings.push_back(std::string("--profile: ") + UnusedProfile);
    if (P.print())
      return Warnings;
    P.MPM.run(*M, P.MAM);
    for (const std::string &Point : Passes.heldBack())
      Warnings.push_back("--at " + Point +
                         ": never ran: " + ProfileGate::Closed);
    if (TimePassesIsEnabled)
      P.SI.getTimePasses().print();
  }
  const auto &Failed = Passes.failure();
  if (Failed && Failed->BrokenIR)
    Broken = Failed->Pass;
  if (Failed && !Given)
    throw CompilationError("pass " + Failed->Pass + " at " + Failed->Unit +
                           ": " + Failed->Text);
  if (Interrupted || Failed || (Inline && Inline->stopped()))
    return Warnings;
  throwDiagnosed();
  if (O.Verify)
    if (std::string Errors = verify(); !Errors.empty())
      throw CompilationError(
          "pipeline " + Text +
          ": expected a module that verifies, got: " + Errors);
  if (Remarks)
    Remarks->keep();
  return Warnings;
}

} // namespace passpilot
