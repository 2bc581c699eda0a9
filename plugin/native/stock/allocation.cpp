// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Advises register allocation in a foreign code generator. LLVM creates its
// analyses through a registry of constructors; we replace two of them.

#include "allocation.h"

#include "../llvm/llvm_options.h"
#include "../llvm/points.h"
#include "../llvm/register_allocation.h"
#include "../loaded/python.h"
#include "code_passes.h"
#include "flags.h"
#include "host.h"
#include "stages.h"
#include "stock_passes.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/CodeGen/GCMetadata.h"
#include "llvm/CodeGen/RegAllocEvictionAdvisor.h"
#include "llvm/CodeGen/RegAllocPriorityAdvisor.h"
#include "llvm/InitializePasses.h"
#include "llvm/PassInfo.h"
#include "llvm/PassRegistry.h"

#include <cstdlib>
#include <map>
#include <mutex>
#include <string>

using namespace llvm;

namespace passpilot {

namespace {

/// What a pipeline does with the options first, for a process without one.
struct Preparation {
  StockPasses *Passes = nullptr;
  bool Failed = false;
};

/// Checks the options and loads the user's files, if no pipeline has: once per
/// process. An error is one of the compilation of \p M.
const Preparation &prepared(Module &M) {
  static Preparation P;
  static std::once_flag Once;
  if (optimizes())
    return P;
  GivenUpGIL Given; // whoever is first runs files in Python
  std::call_once(Once, [&M] {
    P.Failed |= !contained(M.getContext(), [](Messages &Told) {
      PassBuilder PB;
      Expected<StockPasses *> Made = StockPasses::registerWith(PB);
      P.Failed = !Made;
      if (Made)
        P.Passes = *Made;
      else
        Told.push_back({"error", toString(Made.takeError())});
    });
  });
  return P;
}

/// The advisors of one module's code generation.
class CodeGeneration {
public:
  explicit CodeGeneration(Module &M) : M(M), Failed(prepared(M).Failed) {
    std::map<std::string, Session *> Sessions;
    Failed |= !contained(M.getContext(), [&](Messages &Told) {
      for (const HookedPoint *P : pointsOf("emit"))
        if (!Failed && advised(P->Name))
          Sessions[P->Name] = begin(Asked[P->Name], *P, Told);
      liftEvictionLimit();
      Allocation.emplace(
          M.getContext(),
          AllocationSessions::find([&](const char *P) { return Sessions[P]; }));
    });
    if (!Allocation)
      std::exit(1); // without it LLVM cannot go on
  }
  CodeGeneration(const CodeGeneration &) = delete;
  /// Call this before LLVM's output counts as good. A later code generation
  /// from the module, or from another at its address, starts anew.
  void end() {
    All.erase(&M);
    contained(M.getContext(), [&](Messages &Told) {
      const bool Good = !Failed;
      for (auto &[Point, A] : Asked)
        if (A.Advisor && !A.Finished)
          finish(A, Good, Told);
    });
  }

  RegisterAllocation &allocation() { return *Allocation; }

  /// The current code generations by module.
  static thread_local DenseMap<Module *, std::weak_ptr<CodeGeneration>> All;

private:
  struct AskedPoint {
    std::unique_ptr<passpilot::Advisor> Advisor;
    AdvisorOptions Options;
    bool Finished = false;
  };
  Module &M;
  std::map<std::string, AskedPoint> Asked;
  std::optional<RegisterAllocation> Allocation;
  bool Failed;

  Session *begin(AskedPoint &A, const HookedPoint &P, Messages &Told) {
    A.Options = advisorOptions(P.Name, M);
    A.Advisor = makeAdvisor(A.Options, P.Table(), Told);
    Failed |= !A.Advisor;
    if (!A.Advisor)
      return nullptr;
    Session &S = A.Advisor->session();
    S.OnFailure = [this, &A] { fail(A); };
    return &S;
  }

  void fail(AskedPoint &A) {
    Failed = true;
    A.Advisor->session().OnFailure = nullptr;
    contained(M.getContext(), [&](Messages &Told) { finish(A, true, Told); });
  }

  void finish(AskedPoint &A, bool Good, Messages &Told) {
    A.Finished = true;
    A.Advisor->finish(Good, Told);
    if (statsWanted() && Good && !Failed)
      errs() << report(A.Advisor->session(),
                       A.Options.Runner + " on " + M.getModuleIdentifier());
  }
};

thread_local DenseMap<Module *, std::weak_ptr<CodeGeneration>>
    CodeGeneration::All;

/// The modules whose registers are being allocated with advice.
thread_local DenseSet<const Module *> Begun;

/// LLVM's two analyses share a module's advisors, which live as long as
/// both. Code generators may run on several threads, each with its own
/// module.
std::shared_ptr<CodeGeneration> generationOf(Module &M) {
  Begun.insert(&M);
  auto &All = CodeGeneration::All;
  std::shared_ptr<CodeGeneration> Mine = All.lookup(&M).lock();
  if (!Mine)
    All[&M] = Mine = std::make_shared<CodeGeneration>(M);
  return Mine;
}

bool wanted() {
  return any_of(pointsOf("emit"),
                [](const HookedPoint *P) { return advised(P->Name); });
}

/// Creates one of LLVM's analyses, which keeps the module's advisors alive.
template <Pass *(*Create)(AllocationHost)> Pass *createAnalysis() {
  auto Mine = std::make_shared<std::shared_ptr<CodeGeneration>>();
  return Create({[Mine](Module &M) -> RegisterAllocation & {
                   *Mine = generationOf(M);
                   return (*Mine)->allocation();
                 },
                 [Mine] { (*Mine)->end(); }});
}

/// Replaces the constructor of an LLVM analysis by \p Create.
template <typename Analysis, Pass *(*Create)(AllocationHost)>
void replaceConstructor() {
  static PassInfo::NormalCtor_t Theirs;
  auto *Info = const_cast<PassInfo *>(
      PassRegistry::getPassRegistry()->getPassInfo(&Analysis::ID));
  Theirs = Info->getNormalCtor();
  Info->setNormalCtor(
      [] { return wanted() ? createAnalysis<Create>() : Theirs(); });
}

/// An analysis in every code generation: checks the options, runs the passes in
/// Python that belong there, and warns about advisors that were never asked.
class EveryCodeGeneration final : public GCModuleInfo {
public:
  // LLVM reads options such as those of the outliner after it has made us;
  // prepared() reports errors.
  EveryCodeGeneration() {
    prepareCodePasses();
    consumeError(policy().check());
  }

private:
  bool doInitialization(Module &M) override {
    noteCodeGeneration();
    if (!prepared(M).Failed)
      runCodePasses(M);
    if (!optimizes())
      contained(M.getContext(), [&M](Messages &Told) {
        if (const std::string Why = policy().refusal(M); !Why.empty())
          Told.push_back({"error", Why});
      });
    return GCModuleInfo::doInitialization(M);
  }

  bool doFinalization(Module &M) override {
    contained(M.getContext(), [&M](Messages &Told) {
      if (!Begun.erase(&M))
        warn(M, "emit", Told);
      if (StockPasses *Passes = prepared(M).Passes; Passes && !optimizes()) {
        warn(M, "optimize", Told);
        Passes->end(/*Good=*/true, Told);
      }
    });
    return GCModuleInfo::doFinalization(M);
  }

  static void warn(Module &M, StringRef Function, Messages &Told) {
    for (const HookedPoint *P : pointsOf(Function))
      if ((Function == "emit" ? advised(P->Name) : advisedByChoice(P->Name)) &&
          !prepared(M).Failed)
        Told.push_back(unaskedWarning(P->Name, advisorOptions(P->Name, M)));
  }
};

} // namespace

void registerAllocation() {
  PassRegistry &Registry = *PassRegistry::getPassRegistry();
  initializeGCModuleInfoPass(Registry);
  const_cast<PassInfo *>(Registry.getPassInfo(&GCModuleInfo::ID))
      ->setNormalCtor([]() -> Pass * { return new EveryCodeGeneration; });
  initializeRegAllocEvictionAdvisorAnalysisLegacyPass(Registry);
  initializeRegAllocPriorityAdvisorAnalysisLegacyPass(Registry);
  replaceConstructor<RegAllocEvictionAdvisorAnalysisLegacy,
                     RegisterAllocation::createEvictionAnalysis>();
  replaceConstructor<RegAllocPriorityAdvisorAnalysisLegacy,
                     RegisterAllocation::createPriorityAnalysis>();
}

} // namespace passpilot
