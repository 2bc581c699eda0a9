// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The register allocator's advisors in somebody else's code generator. LLVM
// makes its analyses through a registry of constructors, where ours are put.

#include "allocation.h"

#include "../llvm/llvm_options.h"
#include "../llvm/points.h"
#include "../llvm/register_allocation.h"
#include "flags.h"
#include "host.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/CodeGen/GCMetadata.h"
#include "llvm/CodeGen/RegAllocEvictionAdvisor.h"
#include "llvm/CodeGen/RegAllocPriorityAdvisor.h"
#include "llvm/InitializePasses.h"
#include "llvm/PassInfo.h"
#include "llvm/PassRegistry.h"

#include <map>
#include <string>

using namespace llvm;

namespace passpilot {

namespace {

/// LLVM's decision points in code generation.
std::vector<const HookedPoint *> points() {
  std::vector<const HookedPoint *> Ours;
  for (const HookedPoint &P : hookedPoints())
    if (StringRef(P.Function) == "emit")
      Ours.push_back(&P);
  return Ours;
}

/// The advisors of one module's code generation.
class CodeGeneration {
public:
  explicit CodeGeneration(Module &M) : M(M) {
    std::map<std::string, Session *> Sessions;
    for (const HookedPoint *P : points())
      if (advised(P->Name))
        Sessions[P->Name] = begin(Asked[P->Name], *P);
    liftEvictionLimit();
    Allocation.emplace(M.getContext(), Sessions["evict"], Sessions["priority"]);
  }
  CodeGeneration(const CodeGeneration &) = delete;
  /// To be called before LLVM's output counts as good. Who generates code from
  /// the module, or another at its address, after that begins anew.
  void end() {
    All.erase(&M);
    Messages Told;
    const bool Good = !Failed;
    for (auto &[Point, A] : Asked)
      if (A.Advisor && !A.Finished)
        finish(A, Good, Told);
    tell(M.getContext(), Told);
  }

  RegisterAllocation &allocation() { return *Allocation; }

  /// By module, until the end.
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
  bool Failed = false;

  Session *begin(AskedPoint &A, const HookedPoint &P) {
    Messages Told;
    if (advisorOptions(P.Name, M, A.Options, Told))
      A.Advisor = makeAdvisor(A.Options, P.Table(), Told);
    Failed |= !A.Advisor;
    tell(M.getContext(), Told);
    if (!A.Advisor)
      return nullptr;
    Session &S = A.Advisor->session();
    S.OnFailure = [this, &A] { fail(A); };
    return &S;
  }

  void fail(AskedPoint &A) {
    Failed = true;
    A.Advisor->session().OnFailure = nullptr;
    Messages Told;
    finish(A, true, Told);
    tell(M.getContext(), Told);
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

/// LLVM's two analyses share what belongs to a module, and live as long as all
/// that asks it. Code generators run on several threads, each on a module of
/// its own.
std::shared_ptr<CodeGeneration> generationOf(Module &M) {
  Begun.insert(&M);
  auto &All = CodeGeneration::All;
  std::shared_ptr<CodeGeneration> Mine = All.lookup(&M).lock();
  if (!Mine)
    All[&M] = Mine = std::make_shared<CodeGeneration>(M);
  return Mine;
}

bool wanted() {
  return any_of(points(),
                [](const HookedPoint *P) { return advised(P->Name); });
}

/// One of LLVM's analyses, with a hold on the module's advisors.
template <Pass *(*Create)(AllocationHost)> Pass *createAnalysis() {
  auto Mine = std::make_shared<std::shared_ptr<CodeGeneration>>();
  return Create({[Mine](Module &M) -> RegisterAllocation & {
                   *Mine = generationOf(M);
                   return (*Mine)->allocation();
                 },
                 [Mine] { (*Mine)->end(); }});
}

/// Puts \p Create where LLVM keeps the constructor of an analysis.
template <typename Analysis, Pass *(*Create)(AllocationHost)>
void replaceConstructor() {
  static PassInfo::NormalCtor_t Theirs;
  auto *Info = const_cast<PassInfo *>(
      PassRegistry::getPassRegistry()->getPassInfo(&Analysis::ID));
  Theirs = Info->getNormalCtor();
  Info->setNormalCtor(
      [] { return wanted() ? createAnalysis<Create>() : Theirs(); });
}

/// Part of every code generation, and so of those whose register allocator has
/// no use for advisors.
class EveryCodeGeneration final : public GCModuleInfo {
  bool doFinalization(Module &M) override {
    for (const HookedPoint *P : points())
      if (advised(P->Name) && !Begun.contains(&M))
        warn(M, P->Name);
    Begun.erase(&M);
    return GCModuleInfo::doFinalization(M);
  }

  static void warn(Module &M, const char *Point) {
    Messages Told;
    AdvisorOptions O;
    if (advisorOptions(Point, M, O, Told))
      Told.push_back(unaskedWarning(Point, O));
    tell(M.getContext(), Told);
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
