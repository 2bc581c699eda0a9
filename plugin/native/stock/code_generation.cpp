// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Advises code generation in a foreign compiler: runs passes in Python at its
// beginning, and gives LLVM's register allocator our advisors.

#include "../llvm/llvm_options.h"
#include "../llvm/register_allocation.h"
#include "../llvm/scheduling.h"
#include "../llvm/small_constants.h"
#include "../llvm/unwind_tables.h"
#include "../llvm/wasm_ifs.h"
#include "../loaded/python.h"
#include "../loaded/refusal.h"
#include "flags.h"
#include "host.h"
#include "stages_reached.h"
#include "stock_passes.h"
#include "unit_options.h"
#include "llvm/Analysis/CGSCCPassManager.h"
#include "llvm/Analysis/LoopAnalysisManager.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/Target/RegisterTargetPassConfigCallback.h"

#include <cstdlib>
#include <map>
#include <mutex>

using namespace llvm;

namespace passpilot {

namespace {

/// What a pipeline does with the options first, for a process without one.
struct Preparation {
  std::shared_ptr<StockPasses> Passes;
  Messages Errors; ///< those of every compilation
};

/// Checks the options and loads the user's files, if no pipeline has: once per
/// process.
const Preparation &prepared() {
  static const Preparation None;
  static Preparation &P = *new Preparation; // not destroyed at exit
  static std::once_flag Once;
  if (optimizes())
    return None;
  GivenUpGIL Given; // the first thread runs files in Python
  std::call_once(Once, [] {
    contained(P.Errors, [] {
      PassBuilder PB;
      auto Passes = StockPasses::registerWith(PB);
      if (Passes)
        P.Passes = std::move(*Passes);
      else
        P.Errors.push_back({"error", toString(Passes.takeError())});
    });
  });
  return P;
}

/// The pipeline text of the advised passes; empty if none is advised.
std::string advisedPasses() {
  std::string Text;
  for (const EmitPass &P : emitPasses())
    if (advised(P.Point))
      Text += (Text.empty() ? "" : ",") + std::string(P.Text);
  return Text;
}

Error runPasses(Module &M, StringRef Text, Messages &Report) {
  PassInstrumentationCallbacks PIC;
  LoopAnalysisManager LAM;
  FunctionAnalysisManager FAM;
  CGSCCAnalysisManager CGAM;
  ModuleAnalysisManager MAM;
  PassBuilder PB(nullptr, {}, std::nullopt, &PIC);
  auto Registered = StockPasses::registerWith(PB, PassStage::CodeGeneration);
  if (!Registered)
    return Registered.takeError();
  StockPasses &Passes = **Registered;
  PB.registerModuleAnalyses(MAM);
  PB.registerCGSCCAnalyses(CGAM);
  PB.registerFunctionAnalyses(FAM);
  PB.registerLoopAnalyses(LAM);
  PB.crossRegisterProxies(LAM, FAM, CGAM, MAM);
  ModulePassManager PM;
  if (Error E = Passes.parse(PB, PM, Text))
    return E;
  Passes.begin(M);
  PM.run(M, MAM);
  Passes.end(!Passes.failed(), Report);
  return Error::success();
}

/// Advises one code generation; LLVM's pass manager owns it.
class CodeGeneration final : public ImmutablePass {
public:
  static char ID;
  explicit CodeGeneration(OptionTexts Added)
      : ImmutablePass(ID), Added(std::move(Added)) {}
  StringRef getPassName() const override { return "passpilot"; }

  /// The module's advisors, made when the allocator first needs them.
  RegisterAllocation &allocation(Module &M) {
    if (!Allocation)
      begin(M);
    return *Allocation;
  }

private:
  struct AdvisedPoint {
    std::unique_ptr<passpilot::Advisor> Advisor;
    AdvisorOptions Options;
    bool Finished = false;
  };
  const Option::Settings Settings = Option::settings();
  const OptionTexts Added; ///< LLVM's options when the passes were added
  std::optional<UnitHold> Options;
  std::map<std::string, AdvisedPoint> Points;
  std::optional<RegisterAllocation> Allocation; // refers to the advisors
  bool Failed = false;

  bool doInitialization(Module &M) override {
    const SettingsInUse InUse(Settings);
    noteCodeGeneration();
    contained(M, [&](Messages &Report) {
      const std::string Text = advisedPasses();
      Report = prepared().Errors;
      if (const std::string Why = holdOptions(M); !Why.empty())
        Report.push_back({"error", "options of LLVM for " +
                                       M.getModuleIdentifier() + ": " + Why});
      Failed = !Report.empty();
      if (!Failed && !Text.empty() && !hasFailed(M))
        if (Error E = runPasses(M, Text, Report))
          Report.push_back({"error", toString(std::move(E))});
      if (optimizes())
        return;
      if (const std::string Why = policy().refusal(M); !Why.empty())
        Report.push_back({"error", Why});
      if (isDistributed() && advisesOptimizer())
        Report.push_back(unadvised(M));
    });
    return false;
  }

  bool doFinalization(Module &M) override {
    const SettingsInUse InUse(Settings);
    if (!Allocation && none_of(M, [](Function &F) { return !F.empty(); }))
      allocation(M); // nothing to ask about, but the log wants to be written
    contained(M, [&](Messages &Report) {
      const bool Good = !Failed;
      if (!Allocation)
        warn(M, "emit", Report);
      if (StockPasses *Passes = prepared().Passes.get();
          Passes && !optimizes() && !isDistributed()) {
        warn(M, "optimize", Report);
        Passes->end(/*Good=*/true, Report);
      }
      for (auto &[Point, A] : Points)
        if (A.Advisor && !A.Finished)
          finish(M, A, Good, Report);
    });
    Allocation.reset(); // the pass manager may run again
    Points.clear();
    Options.reset();
    forgetFailure(M);
    return false;
  }

  /// Keeps the options of \p M; returns why they cannot be kept.
  std::string holdOptions(const Module &M) {
    const OptionTexts Wanted = optionsOf(M);
    Options.emplace(OptionReader::CodeGenerator, Wanted);
    const std::string Late = lateOption(Added, Wanted);
    return Late.empty() ? Options->error()
                        : "expected " + Late +
                              " before the passes of its code generation were "
                              "added, got another module's; optimize it on the "
                              "same thread right before";
  }

  void begin(Module &M) {
    const SettingsInUse InUse(Settings);
    std::map<std::string, Session *> Sessions;
    Failed |= !contained(M, [&](Messages &Report) {
      for (const HookedPoint *P : pointsOf("emit"))
        if (!Failed && advised(P->Name))
          Sessions[P->Name] = begin(M, *P, Report);
      liftEvictionLimit();
      Allocation.emplace(
          M.getContext(),
          AllocationSessions::find([&](const char *P) { return Sessions[P]; }));
    });
    if (!Allocation)
      std::exit(1); // without it LLVM cannot go on
  }

  Session *begin(Module &M, const HookedPoint &P, Messages &Report) {
    AdvisedPoint &A = Points[P.Name];
    A.Options = advisorOptions(P.Name, M);
    A.Advisor = makeAdvisor(A.Options, P.Table(), Report);
    Failed |= !A.Advisor;
    if (!A.Advisor)
      return nullptr;
    Session &S = A.Advisor->session();
    S.OnFailure = [this, &M, &A] { fail(M, A); };
    return &S;
  }

  /// Frees the function that calls it, and so uses none of its captures.
  void fail(Module &M, AdvisedPoint &A) {
    Failed = true;
    A.Advisor->session().OnFailure = nullptr;
    contained(M, [&](Messages &Texts) { finish(M, A, /*Good=*/true, Texts); });
  }

  void finish(Module &M, AdvisedPoint &A, bool Good, Messages &Report) {
    A.Finished = true;
    A.Advisor->finish(Good, Report);
    if (statsWanted() && Good && !Failed)
      errs() << report(A.Advisor->session(),
                       A.Options.Runner + " on " + M.getModuleIdentifier());
  }

  /// What is said of advice for the optimizer of a distributed back end.
  static Message unadvised(const Module &M) {
    const std::string Why = "got -fthinlto-index, with which clang's optimizer "
                            "loads no plugin and asks nobody; ";
    if (advisorOptions("inline", M).OnError == "default")
      return {"warning",
              "passpilot: " + Why + "only code generation is advised"};
    return {"error", "passpilot: expected a link with -flto=thin and lld, " +
                         Why +
                         "-passpilot-on-error=default compiles without "
                         "advice for the optimizer"};
  }

  static void warn(Module &M, StringRef Function, Messages &Report) {
    for (const HookedPoint *P : pointsOf(Function))
      if ((Function == "emit" ? advised(P->Name) : advisedByChoice(P->Name)) &&
          prepared().Errors.empty())
        Report.push_back(unaskedWarning(P->Name, advisorOptions(P->Name, M)));
  }
};

char CodeGeneration::ID = 0;

/// Called while the tool adds the passes of a code generation.
void advise(TargetMachine &TM, PassManagerBase &PM, TargetPassConfig *) {
  const SettingsInUse InUse(unitSettings());
  consumeError(setUnwindTables()); // prepared() reports it
  // LLVM reads its options next; the manager owns the pass.
  auto *Generation =
      new CodeGeneration(beginPassConfig(TM.getTargetTriple().str()));
  PM.add(Generation);
  if (any_of(pointsOf("emit"),
             [](const HookedPoint *P) { return advised(P->Name); }))
    RegisterAllocation::install(
        PM, [Generation](Module &M) -> RegisterAllocation & {
          return Generation->allocation(M);
        });
  if (advised("schedule"))
    useAdvisedScheduler();
}

} // namespace

void registerCodeGeneration() {
  static const RegisterTargetPassConfigCallback Callback(advise);
  registerUnwindTables(isLinker());
  registerSmallConstants();
  registerWasmIfs();
}

} // namespace passpilot
