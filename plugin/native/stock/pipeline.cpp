// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "pipeline.h"

#include "../llvm/compilation.h"
#include "../llvm/inline_advisor.h"
#include "../llvm/llvm_options.h"
#include "../llvm/points.h"
#include "flags.h"
#include "host.h"
#include "stock_passes.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace passpilot {

namespace {

class StockPipeline;

/// Keeps the pipeline alive as long as the managers, which forget its results
/// with all that they know of a module.
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

/// What one set of analysis managers is used for. They own it: what LLVM keeps
/// in them (its inline advisors) refers to the session.
class StockPipeline {
public:
  StockPipeline(ModuleAnalysisManager &MAM, StockPasses &Passes)
      : MAM(MAM), Passes(Passes) {}
  ~StockPipeline() { end(); }
  StockPipeline(const StockPipeline &) = delete;

  /// Called for each pass; the first begins the compilation.
  void begin(Module &M) {
    if (Begun == &M)
      return;
    end(); // the managers go on to another module
    Unused.clear();
    MAM.getResult<Anchor>(M);
    Begun = &M;
    Failed = Reached = false;
    Name = M.getModuleIdentifier();
    Context = &M.getContext();
    Passes.begin(M);
    if (advised("inline"))
      beginAdvice(M);
  }

  /// Ends the advice: what comes is no pass that asks, or nothing.
  void end() {
    const Module *Ended = std::exchange(Begun, nullptr);
    if (!Ended)
      return;
    Messages Told;
    Entry.reset();
    if (Inline)
      endAdvice(Ended, Told);
    Passes.end(!failed(), Told);
    tell(*Context, Told);
  }

  /// The managers have forgotten \p Gone; another module may be at its address.
  void forget(const void *Gone) {
    if (Begun == Gone)
      end();
    for (auto &[M, A] : Retired)
      if (M == Gone)
        Unused.push_back(std::move(A));
    erase_if(Retired, [&](const auto &Each) { return Each.first == Gone; });
  }

  /// The output is about to be written: what has gone wrong has to be known.
  void check() {
    if (Inline && !Failed)
      Inline->session().flushLog();
  }

  bool failed() const { return Failed || Passes.failed(); }
  /// An inliner is going to ask.
  void reached() { Reached = true; }

private:
  ModuleAnalysisManager &MAM;
  StockPasses &Passes;
  Module *Begun = nullptr;
  LLVMContext *Context = nullptr;
  AdvisorOptions Options;
  std::unique_ptr<Advisor> Inline;
  std::optional<Compilation> Entry;
  bool Failed = false;
  bool Reached = false; ///< by LLVM's inliner
  std::string Name;     ///< the module's

  void beginAdvice(Module &M) {
    Messages Told;
    Options = AdvisorOptions();
    if (advisorOptions("inline", M, Options, Told))
      Inline = makeAdvisor(Options, inlinePoint(), Told);
    Failed = !Inline;
    tell(*Context, Told);
    if (!Inline)
      return;
    liftGrowthLimit();
    Session &S = Inline->session();
    S.OnFailure = [this] { fail(); };
    Entry.emplace(M, MAM, S);
  }

  /// At once: the rest of the compilation is of no use.
  void fail() {
    Failed = true;
    Messages Told;
    Inline->finish(true, Told);
    Inline->session().OnFailure = nullptr;
    tell(*Context, Told);
  }

  void endAdvice(const Module *Ended, Messages &Told) {
    if (!Failed) {
      const bool Good = !Passes.failed();
      Inline->finish(Good, Told);
      if (Good && !Reached && neverAsked(Inline->session()))
        Told.push_back(unaskedWarning("inline", Options));
      if (Good && statsWanted())
        errs() << report(Inline->session(), Options.Runner + " on " + Name);
    }
    Retired.emplace_back(Ended, std::move(Inline));
  }

  /// LLVM's advisors live on until the managers have forgotten the module.
  std::vector<std::pair<const void *, std::unique_ptr<Advisor>>> Retired;
  std::vector<std::unique_ptr<Advisor>> Unused; ///< once that is done
};

Anchor::Result Anchor::run(Module &M, ModuleAnalysisManager &) {
  return {{&M, [P = P](void *Gone) { P->forget(Gone); }}};
}

/// The analysis that LLVM's inliners ask for their advisor, by its own key.
class AdvisorAnalysis : public PluginInlineAdvisorAnalysis {
public:
  explicit AdvisorAnalysis(std::shared_ptr<StockPipeline> P)
      : PluginInlineAdvisorAnalysis(advisor), P(std::move(P)) {}
  Result run(Module &M, ModuleAnalysisManager &MAM) {
    P->begin(M); // where there is no instrumentation that has done so
    P->reached();
    return PluginInlineAdvisorAnalysis::run(M, MAM);
  }

private:
  std::shared_ptr<StockPipeline> P;

  /// After an error the default decides; the compilation ends all the same.
  static llvm::InlineAdvisor *advisor(Module &M, FunctionAnalysisManager &FAM,
                                      InlineParams Params,
                                      InlineContext Context) {
    if (auto *Ours = Compilation::advisor(M, FAM, Params, Context))
      return Ours;
    return new DefaultInlineAdvisor(M, FAM, Params, Context);
  }
};

/// Passes that write what the pipeline has made.
bool writes(StringRef Pass) {
  return Pass.contains("BitcodeWriterPass") || Pass == "PrintModulePass";
}

void watch(PassInstrumentationCallbacks &PIC,
           std::shared_ptr<std::weak_ptr<StockPipeline>> Current) {
  PIC.registerBeforeNonSkippedPassCallback([Current](StringRef Pass, Any IR) {
    const auto P = Current->lock();
    const Module *M = moduleOf(IR);
    if (!P || !M)
      return;
    P->begin(const_cast<Module &>(*M));
    if (writes(Pass))
      P->check();
  });
  PIC.registerShouldRunOptionalPassCallback([Current](StringRef, Any) {
    const auto P = Current->lock();
    return !P || !P->failed();
  });
}

} // namespace

Error registerPipeline(PassBuilder &PB) {
  auto Registered = StockPasses::registerWith(PB);
  if (!Registered)
    return Registered.takeError();
  StockPasses &Passes = **Registered;
  auto Current = std::make_shared<std::weak_ptr<StockPipeline>>();
  PB.registerAnalysisRegistrationCallback(
      [Current, &Passes](ModuleAnalysisManager &MAM) {
        auto P = std::make_shared<StockPipeline>(MAM, Passes);
        *Current = P;
        MAM.registerPass([&] { return Anchor(P); });
        if (advised("inline"))
          MAM.registerPass([&] { return AdvisorAnalysis(P); });
      });
  if (auto *PIC = PB.getPassInstrumentationCallbacks())
    watch(*PIC, Current);
  return Error::success();
}

} // namespace passpilot
