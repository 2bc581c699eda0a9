// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Advises a pipeline in a foreign compiler from its first pass to the end of
// its analysis managers.

#include "../llvm/inline_advisor.h"
#include "flags.h"
#include "host.h"
#include "stages_reached.h"
#include "stock_passes.h"
#include "unit_options.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace passpilot {

namespace {

class StockPipeline;

/// Keeps the pipeline alive as long as the analysis managers. They destroy its
/// result when they forget a module.
struct Anchor : AnalysisInfoMixin<Anchor> {
  explicit Anchor(std::shared_ptr<StockPipeline> P) : P(std::move(P)) {}
  struct Result {
    std::shared_ptr<void> Lifetime;
    bool invalidate(Module &, const PreservedAnalyses &,
                    ModuleAnalysisManager::Invalidator &) {
      return false;
    }
  };
  Result run(Module &M, ModuleAnalysisManager &);
  static inline AnalysisKey Key;

private:
  std::shared_ptr<StockPipeline> P;
};

/// The state of one set of analysis managers, which own it: LLVM's inline
/// advisors are cached in them and refer to the session.
class StockPipeline : public std::enable_shared_from_this<StockPipeline> {
public:
  StockPipeline(ModuleAnalysisManager &MAM, std::shared_ptr<StockPasses> All,
                PassInstrumentationCallbacks *PIC, Option::Settings Settings)
      : MAM(MAM), Settings(std::move(Settings)), Shared(std::move(All)),
        Passes(*Shared), PIC(PIC) {}
  ~StockPipeline() { end(); }
  StockPipeline(const StockPipeline &) = delete;

  /// Called before each pass; the first call begins the compilation.
  void begin(Module &M) {
    if (Begun == &M)
      return;
    const SettingsInUse InUse(Settings);
    end(); // the managers move on to another module
    Unused.clear();
    MAM.getResult<Anchor>(M);
    Begun = &M;
    Failed = false;
    Context = &M.getContext();
    forgetFailure(M);
    beginUnit(M);
    Wanted = policy().options(M.getTargetTriple().str());
    Failed |= !contained(M, [&](Messages &Report) {
      Name = M.getModuleIdentifier();
      if (const std::string Why = policy().refusal(M); !Why.empty()) {
        Report.push_back({"error", Why});
        Failed = true;
        return;
      }
      Passes.begin(M);
      if (advised("inline"))
        beginAdvice(M, Report);
    });
    if (Failed)
      skipPasses();
  }

  /// Ends the advice: no later pass asks.
  void end() {
    const Module *Ended = std::exchange(Begun, nullptr);
    if (!Ended)
      return;
    const SettingsInUse InUse(Settings);
    const bool Reached = Entry && Entry->reached();
    Entry.reset();
    contained(*Context, Ended, [&](Messages &Report) {
      if (Inline)
        endAdvice(Ended, Reached, Report);
      Passes.end(!failed(), Report);
      if (!failed())
        expectCodeGeneration();
    });
  }

  /// The managers forget the module \p Gone; its address may be reused.
  void forget(const void *Gone) {
    if (Begun == Gone)
      end();
    for (auto &[M, A] : Retired)
      if (M == Gone)
        Unused.push_back(std::move(A));
    erase_if(Retired, [&](const auto &R) { return R.first == Gone; });
  }

  /// Called before and after each pass, once a policy or a decision file has
  /// options of LLVM's. The outermost pass keeps those that optimizers read:
  /// the managers may live while other threads need other values.
  void enter() {
    if (!Begun || Depth++)
      return;
    Kept.emplace(OptionReader::Optimizer, Wanted);
    if (const std::string &Why = Kept->error(); !Why.empty() && !Failed) {
      Failed = true;
      skipPasses();
      tell(*Context, Begun,
           {{"error", "options of LLVM for " + Name + ": " + Why}});
    }
  }
  void leave() {
    if (Depth == 0) // the pass began before there were options
      return;
    --Depth;
    if (Depth == 0)
      Kept.reset();
  }

  /// Called before the output is written, so that a failed log is an error.
  void check() {
    if (Inline && !Failed)
      Inline->session().flushLog();
  }

  bool failed() const { return Failed || Passes.failed(); }

private:
  ModuleAnalysisManager &MAM;
  const Option::Settings Settings;
  const std::shared_ptr<StockPasses> Shared;
  StockPasses &Passes;
  PassInstrumentationCallbacks *PIC; ///< outlives the managers, or null
  Module *Begun = nullptr;
  LLVMContext *Context = nullptr;
  AdvisorOptions Options;
  std::unique_ptr<Advisor> Inline;
  std::optional<Compilation> Entry;
  bool Failed = false, Skipping = false;
  unsigned Depth = 0; ///< of running passes
  OptionTexts Wanted;
  std::optional<UnitHold> Kept;
  std::string Name; ///< the module's

  void beginAdvice(Module &M, Messages &Report) {
    Options = advisorOptions("inline", M);
    Inline = makeAdvisor(Options, inlinePoint(), Report);
    Failed = !Inline;
    if (!Inline)
      return;
    Session &S = Inline->session();
    S.OnFailure = [this] { fail(); };
    Entry.emplace(M, MAM, S, Passes.gate());
  }

  /// Reports at once: the rest of the compilation is useless.
  void fail() {
    Failed = true;
    skipPasses();
    Inline->session().OnFailure = nullptr;
    contained(*Context, Begun,
              [&](Messages &Report) { Inline->finish(true, Report); });
  }

  /// LLVM skips optional passes from now on. It allocates for every callback of
  /// every pass, so there is none before a failure.
  void skipPasses() {
    if (!PIC || std::exchange(Skipping, true))
      return;
    PIC->registerShouldRunOptionalPassCallback(
        [Weak = weak_from_this()](StringRef, const Any &) {
          const auto P = Weak.lock();
          return !P || !P->failed();
        });
  }

  void endAdvice(const Module *Ended, bool Reached, Messages &Report) {
    if (!Failed) {
      const bool Good = !Passes.failed();
      Inline->finish(Good, Report);
      if (Good && !Reached && neverAsked(Inline->session()) &&
          !Passes.gate()->leaves()) {
        if (Passes.gate()->counts())
          Options.Unasked = ProfileGate::Closed;
        Report.push_back(unaskedWarning("inline", Options));
      }
      if (Good && statsWanted())
        errs() << report(Inline->session(), Options.Runner + " on " + Name);
    }
    Retired.emplace_back(Ended, std::move(Inline));
  }

  /// LLVM's advisors stay alive until the managers forget the module.
  std::vector<std::pair<const void *, std::unique_ptr<Advisor>>> Retired;
  std::vector<std::unique_ptr<Advisor>> Unused; ///< their modules are forgotten
};

Anchor::Result Anchor::run(Module &M, ModuleAnalysisManager &) {
  return {{&M, [P = P](void *Gone) { P->forget(Gone); }}};
}

/// Replaces the analysis from which LLVM's inliners get their advisor. After an
/// error, the default decides until the compilation ends.
class AdvisorAnalysis : public PluginInlineAdvisorAnalysis {
public:
  explicit AdvisorAnalysis(std::shared_ptr<StockPipeline> P)
      : PluginInlineAdvisorAnalysis(Compilation::advisor), P(std::move(P)) {}
  Result run(Module &M, ModuleAnalysisManager &MAM) {
    P->begin(M); // in case no instrumentation has called it
    return PluginInlineAdvisorAnalysis::run(M, MAM);
  }

private:
  std::shared_ptr<StockPipeline> P;
};

/// Whether \p Pass writes the result of the pipeline.
bool writes(StringRef Pass) {
  return Pass.ends_with("BitcodeWriterPass") || Pass == "PrintModulePass";
}

/// The pipeline of a builder's present managers.
struct Watched {
  std::weak_ptr<StockPipeline> Pipeline;
  bool Leaves = false; ///< it is called after each pass
};

/// Who sets no options does not pay for these callbacks.
void watchEnds(PassInstrumentationCallbacks &PIC,
               const std::shared_ptr<Watched> &Current) {
  const auto Leave = [Current] {
    if (const auto P = Current->Pipeline.lock())
      P->leave();
  };
  PIC.registerAfterPassCallback(
      [Leave](StringRef, const Any &, const PreservedAnalyses &) { Leave(); });
  PIC.registerAfterPassInvalidatedCallback(
      [Leave](StringRef, const PreservedAnalyses &) { Leave(); });
}

void watch(PassInstrumentationCallbacks &PIC,
           const std::shared_ptr<Watched> &Current) {
  PIC.registerBeforeNonSkippedPassCallback(
      [&PIC, Current](StringRef Pass, const Any &IR) {
        const auto P = Current->Pipeline.lock();
        const Module *M = moduleOf(IR);
        if (!P || !M)
          return;
        // Without a pipeline clang leaves the module to its next step, as
        // under -save-temps or on the host's side of offloading.
        if (!writes(Pass) || !isClang())
          P->begin(const_cast<Module &>(*M));
        if (setsOptions()) {
          if (!std::exchange(Current->Leaves, true))
            watchEnds(PIC, Current);
          P->enter();
        }
        if (writes(Pass))
          P->check();
      });
}

} // namespace

static Error adviseBuilder(PassBuilder &PB) {
  auto Registered = StockPasses::registerWith(PB);
  if (!Registered)
    return Registered.takeError();
  auto Current = std::make_shared<Watched>();
  PB.registerAnalysisRegistrationCallback(
      [Current, Passes = std::move(*Registered),
       PIC = PB.getPassInstrumentationCallbacks(),
       Settings = Option::settings()](ModuleAnalysisManager &MAM) {
        const SettingsInUse InUse(Settings);
        auto P = std::make_shared<StockPipeline>(MAM, Passes, PIC, Settings);
        Current->Pipeline = P;
        MAM.registerPass([&] { return Anchor(P); });
        if (advised("inline"))
          MAM.registerPass([&] { return AdvisorAnalysis(P); });
      });
  if (auto *PIC = PB.getPassInstrumentationCallbacks())
    watch(*PIC, Current);
  return Error::success();
}

Error registerPipeline(PassBuilder &PB) {
  noteOptimization();
  const SettingsInUse InUse; // other threads may set others meanwhile
  Messages Report;
  std::optional<Error> Result;
  if (contained(Report, [&] { Result.emplace(adviseBuilder(PB)); }))
    return std::move(*Result);
  return createStringError(Report.back().Text);
}

} // namespace passpilot
