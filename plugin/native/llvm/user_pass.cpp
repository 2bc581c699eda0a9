// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "user_pass.h"

#include "../runtime/permitted.h"
#include "after_user_pass.h"
#include "compat.h"
#include "estimated_profile.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/MemorySSA.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace llvm;

namespace passpilot {

namespace {

PassUnit unitOf(Module &M) {
  PassUnit U;
  U.Module = &M;
  return U;
}

PassUnit unitOf(LazyCallGraph::SCC &C, LazyCallGraph &, CGSCCUpdateResult &UR) {
  PassUnit U;
  U.Level = PassLevel::CGSCC;
  U.Module = C.begin()->getFunction().getParent();
  U.SCC = &C;
  U.CGSCCUpdate = &UR;
  return U;
}

PassUnit unitOf(Function &F) {
  PassUnit U;
  U.Level = PassLevel::Function;
  U.Module = F.getParent();
  U.Function = &F;
  return U;
}

PassUnit unitOf(Loop &L, LoopStandardAnalysisResults &AR, LPMUpdater &) {
  PassUnit U = unitOf(*L.getHeader()->getParent());
  U.Level = PassLevel::Loop;
  U.Loop = &L;
  U.LoopResults = &AR;
  return U;
}

/// The unit that pass instrumentation reports. After a pass on an SCC LLVM
/// verifies the whole module: the pass may have changed other functions.
std::optional<PassUnit> unitOf(const Any &IR) {
  if (auto *L = any_cast<const Loop *>(&IR)) {
    PassUnit U = unitOf(*(*L)->getHeader()->getParent());
    U.Loop = const_cast<Loop *>(*L);
    return U;
  }
  if (auto *F = any_cast<const Function *>(&IR))
    return unitOf(const_cast<Function &>(**F));
  if (auto *M = any_cast<const Module *>(&IR))
    return unitOf(const_cast<Module &>(**M));
  if (auto *C = any_cast<const LazyCallGraph::SCC *>(&IR)) {
    PassUnit U = unitOf(*(*C)->begin()->getFunction().getParent());
    U.SCC = const_cast<LazyCallGraph::SCC *>(*C);
    return U;
  }
  return std::nullopt;
}

/// Wraps a user's pass for LLVM's pass managers.
template <typename UnitT, typename ManagerT, typename... ExtraT>
class Held final : public detail::PassConcept<UnitT, ManagerT, ExtraT...> {
public:
  Held(UserPasses &All, UserPass &P)
      : Owner(All.Owner.lock()), All(All), P(P) {}

private:
  const std::shared_ptr<void> Owner;
  UserPasses &All;
  UserPass &P;

  PreservedAnalyses run(UnitT &Unit, ManagerT &, ExtraT... Extra) override {
    return All.run(P, unitOf(Unit, Extra...));
  }
  void printPipeline(raw_ostream &OS,
                     function_ref<StringRef(StringRef)>) override {
    OS << P.Text;
  }
  StringRef name() const override { return P.Name; }
  bool isRequired() const override { return P.Required; }
};

template <typename UnitT, typename ManagerT, typename... ExtraT>
void hold(PassManager<UnitT, ManagerT, ExtraT...> &PM, UserPasses &All,
          UserPass &P) {
  appendPass(PM, std::make_unique<Held<UnitT, ManagerT, ExtraT...>>(All, P));
}

template <typename> constexpr PassLevel LevelOf = PassLevel::Module;
template <> constexpr PassLevel LevelOf<CGSCCPassManager> = PassLevel::CGSCC;
template <>
constexpr PassLevel LevelOf<FunctionPassManager> = PassLevel::Function;
template <> constexpr PassLevel LevelOf<LoopPassManager> = PassLevel::Loop;

} // namespace

/// Adds \p P to \p PM, through adaptors if its level is below that of \p PM.
template <typename PassManagerT>
void UserPasses::append(PassManagerT &PM, UserPass &P) {
  constexpr PassLevel Level = LevelOf<PassManagerT>;
  if (P.Level == Level)
    return hold(PM, *this, P);
  if constexpr (Level == PassLevel::Module) {
    if (P.Level == PassLevel::CGSCC) {
      CGSCCPassManager Inner;
      append(Inner, P);
      PM.addPass(createModuleToPostOrderCGSCCPassAdaptor(std::move(Inner)));
      return;
    }
  }
  if constexpr (Level == PassLevel::Function) {
    LoopPassManager Inner;
    append(Inner, P);
    PM.addPass(createFunctionToLoopPassAdaptor(std::move(Inner)));
  } else if constexpr (Level != PassLevel::Loop) {
    FunctionPassManager Inner;
    append(Inner, P);
    if constexpr (Level == PassLevel::Module)
      PM.addPass(createModuleToFunctionPassAdaptor(std::move(Inner)));
    else
      PM.addPass(createCGSCCToFunctionPassAdaptor(std::move(Inner)));
  }
}

template <typename PassManagerT>
void UserPasses::registerParser(PassBuilder &PB) {
  constexpr PassLevel Level = LevelOf<PassManagerT>;
  PB.registerPipelineParsingCallback(
      [this](StringRef Name, PassManagerT &PM,
             ArrayRef<PassBuilder::PipelineElement>) {
        if (Resolve && !Nested)
          resolve(Name);
        for (UserPass &P : Passes) {
          if (Nested || Name != P.Text || P.Level < Level)
            continue;
          // The first element decides the level of a text: LLVM tries the
          // levels in turn, from the module down.
          if (P.Level != Level && Name == First)
            return false;
          append(PM, P);
          return true;
        }
        return false;
      });
}

/// Explains an unknown name that is a pass of ours at another level.
Error UserPasses::explained(Error E) const {
  std::string Text = toString(std::move(E));
  for (const UserPass &P : Passes)
    if (StringRef(Text).contains("'" + P.Text + "'"))
      Text += "; " + P.Name + " is a " +
              (Nested ? "pass in Python: call its run()"
                      : levelName(P.Level) + std::string(" pass"));
  return createStringError(Text);
}

template <typename PassManagerT>
Error UserPasses::parse(PassBuilder &PB, PassManagerT &PM, StringRef Text) {
  // Parsing nests: an extension point's text is parsed during another.
  if (isTooDeep(Text))
    return createStringError(Twine("expected a pipeline, got ") + TooDeep);
  const SaveAndRestore Outer(First);
  if constexpr (LevelOf<PassManagerT> == PassLevel::Module)
    First = Text.take_until([](char C) { return StringRef(",()").contains(C); })
                .str();
  Error E = PB.parsePassPipeline(PM, withKnownLevels(Text));
  return E ? explained(std::move(E)) : Error::success();
}

template Error UserPasses::parse(PassBuilder &, ModulePassManager &, StringRef);
template Error UserPasses::parse(PassBuilder &, CGSCCPassManager &, StringRef);
template Error UserPasses::parse(PassBuilder &, FunctionPassManager &,
                                 StringRef);
template Error UserPasses::parse(PassBuilder &, LoopPassManager &, StringRef);

void UserPasses::registerWith(PassBuilder &PB, StringRef Text) {
  Callbacks = PB.getPassInstrumentationCallbacks();
  Gate = std::make_shared<ProfileGate>();
  Gate->registerWith(PB, Text);
  PB.registerAnalysisRegistrationCallback(
      [this, &PB, Owned = Owner.lock()](ModuleAnalysisManager &AM) {
        Managers.Module = &AM;
        Parser = parserOf(PB);
      });
  PB.registerAnalysisRegistrationCallback(
      [this](CGSCCAnalysisManager &AM) { Managers.CGSCC = &AM; });
  PB.registerAnalysisRegistrationCallback(
      [this](FunctionAnalysisManager &AM) { Managers.Function = &AM; });
  PB.registerAnalysisRegistrationCallback(
      [this](LoopAnalysisManager &AM) { Managers.Loop = &AM; });
  registerEstimatedProfile(PB); // before passes in Python, which cost more
  registerParser<ModulePassManager>(PB);
  registerParser<CGSCCPassManager>(PB);
  registerParser<FunctionPassManager>(PB);
  registerParser<LoopPassManager>(PB);
  if (Callbacks)
    addAll(*Callbacks);
}

/// Registers the passes' names with LLVM and watches the running passes.
void UserPasses::addAll(PassInstrumentationCallbacks &PIC) {
  for (const UserPass &P : Passes)
    PIC.addClassToPassName(P.Name, P.Name);
  if (Watching || (!VerifyEach && Passes.empty()))
    return;
  Watching = true;
  watch(PIC);
}

void UserPasses::resolve(StringRef Element) {
  for (const UserPass &P : Passes)
    if (Element == P.Text)
      return;
  Resolve(Element);
  if (Callbacks)
    addAll(*Callbacks);
}

/// Passes that only run other passes; verifying after them is redundant.
static const std::vector<StringRef> Containers = {"PassManager", "PassAdaptor",
                                                  "DevirtSCCRepeatedPass",
                                                  "ModuleInlinerWrapperPass"};

Error UserPasses::skip(Function &F, StringRef Name) {
  FunctionPassManager Trial;
  if (Error E = Parser->parsePassPipeline(Trial, withKnownLevels(Name)))
    return E;
  auto &[Handle, Names] = Skips[&F];
  if (Handle != &F) // another function was at its address
    Names.clear();
  Handle = &F;
  Names.insert(Name);
  return Error::success();
}

bool UserPasses::skips(StringRef Pass, const Any &IR) const {
  auto *F = any_cast<const Function *>(&IR);
  const auto Found = F ? Skips.find(*F) : Skips.end();
  return Found != Skips.end() && Found->second.first == *F &&
         Found->second.second.contains(Pass);
}

/// Maintains Running, and skips passes: those in Skips, and all optional ones
/// after a failure.
void UserPasses::watch(PassInstrumentationCallbacks &PIC) {
  const auto Owned = &PIC == Own ? nullptr : Owner.lock();
  PIC.registerShouldRunOptionalPassCallback([this, &PIC, Owned](StringRef Class,
                                                                const Any &IR) {
    return !Failure &&
           (Skips.empty() || !skips(PIC.getPassNameForClassName(Class), IR));
  });
  PIC.registerBeforeSkippedPassCallback([this](StringRef Name, const Any &IR) {
    const auto Unit = unitOf(IR);
    if (!Unit || !Unit->Function || !Unit->Function->hasOptNone())
      return;
    for (UserPass &P : Passes)
      P.Skipped += Name == P.Name;
  });
  PIC.registerBeforeNonSkippedPassCallback([this](StringRef, const Any &Unit) {
    Running.push_back(any_cast<const LazyCallGraph::SCC *>(&Unit) != nullptr);
  });
  const auto Leave = [this] {
    if (!Running.empty()) // else the pass began before this was registered
      Running.pop_back();
  };
  PIC.registerAfterPassCallback(
      [=](StringRef, const Any &, const PreservedAnalyses &) { Leave(); });
  PIC.registerAfterPassInvalidatedCallback(
      [=](StringRef, const PreservedAnalyses &) { Leave(); });
  if (VerifyEach)
    PIC.registerAfterPassCallback(
        [&](StringRef Class, const Any &IR, const PreservedAnalyses &) {
          const auto Unit = unitOf(IR);
          if (!Failure && Unit && !isSpecialPass(Class, Containers))
            verifyAfter(PIC.getPassNameForClassName(Class), *Unit);
        });
}

/// Reports invalid IR; LLVM's own -verify-each would end the process.
void UserPasses::verifyAfter(StringRef Pass, const PassUnit &Unit) {
  if (Debug && Unit.Function)
    dbgs() << "Verifying function " << Unit.Function->getName() << "\n";
  else if (Debug)
    dbgs() << "Verifying module " << Unit.Module->getName() << "\n";
  if (std::string Found = complaints(Unit, nullptr); !Found.empty())
    Failure = {Pass.str(), Unit.text(), Found, /*BrokenIR=*/true};
}

LazyCallGraph *UserPasses::walked(Module &M) const {
  const bool Walking = is_contained(Running, true);
  return Walking ? Managers.Module->getCachedResult<LazyCallGraphAnalysis>(M)
                 : nullptr;
}

PreservedAnalyses UserPasses::run(UserPass &P, PassUnit Unit) {
  if (Failure)
    return PreservedAnalyses::all();
  ++P.Runs;
  Unit.Managers = Managers;
  Unit.Walked = walked(*Unit.Module);
  PassResult R = P.Run(Unit);
  bool BrokenIR = false;
  if (!R.Failure && !R.Preserved.areAllPreserved())
    R.Failure = acceptChange(Unit, Verify, BrokenIR);
  if (!R.Failure)
    return std::move(R.Preserved);
  BrokenIR |= abandonChange(Unit);
  Failure = {P.Name, Unit.text(), *R.Failure, BrokenIR};
  if (OnFailure)
    OnFailure();
  // LLVM ends the process if a loop pass does not preserve MemorySSA.
  PreservedAnalyses PA = PreservedAnalyses::none();
  PA.preserve<MemorySSAAnalysis>();
  return PA;
}

std::string UserPasses::idle() const {
  std::string Names;
  unsigned Skipped = 0;
  for (const UserPass &P : Passes)
    if (P.Skipped && !P.Runs) {
      Names += (Names.empty() ? "" : ", ") + P.Name;
      Skipped = std::max(Skipped, P.Skipped);
    }
  if (Names.empty())
    return "";
  return "pass " + Names + ": expected functions to run on, got " +
         std::to_string(Skipped) +
         " marked optnone, as by clang -O0; compile with -Xclang "
         "-disable-O0-optnone, or register it with required=True";
}

void UserPasses::forgetFailure() {
  Failure.reset();
  Skips.clear();
  Gate->begin();
  for (UserPass &P : Passes)
    P.Runs = P.Skipped = 0;
  for (PlacedPipeline &P : PlacedAt)
    P.Held = false;
}

void UserPasses::restart() {
  forgetFailure();
  Stopped = nullptr;
  Running.clear();
  Watching = false;
  PlacedAt.clear();
  Managers = {};
}

} // namespace passpilot
