// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "decisions.h"

#include "../runtime/permitted.h"
#include "../runtime/text.h"
#include "compat.h"
#include "compat_attributes.h"
#include "unwind_tables.h"

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/Transforms/Utils/LoopUtils.h"

#include <functional>
#include <memory>

using namespace llvm;

namespace passpilot {

namespace {

/// Finds the decisions for a module; null if there are none.
using FindUnit = std::function<const UnitDecisions *(const Module &)>;
/// Called at the end of a module's pipeline with what it found, and the level
/// of the pipeline, if it has one.
using AtUnit = std::function<void(Module &, const UnitDecisions *,
                                  std::optional<OptimizationLevel>)>;

class DecidedPass : public PassInfoMixin<DecidedPass> {
public:
  DecidedPass(UserPasses &All, FindUnit Find, AtUnit AtEnd,
              std::optional<OptimizationLevel> Level)
      : Owner(All.Owner.lock()), All(&All), Find(std::move(Find)),
        AtEnd(std::move(AtEnd)), Level(Level) {}

  PreservedAnalyses run(Module &M, ModuleAnalysisManager &MAM) {
    const UnitDecisions *Unit = Find(M);
    PipelineReportsUnits = false;
    if (AtEnd)
      AtEnd(M, Unit, Level);
    if (!Unit)
      return PreservedAnalyses::all();
    for (Function &F : M) {
      const FunctionDecisions *D = Unit->function(F.getName());
      if (!D || F.isDeclaration())
        continue;
      if (D->NoOutline)
        forbidOutlining(F);
      if (!D->Unwind.empty())
        F.addFnAttr(UnwindName, D->Unwind);
    }
    if (Unit->Pipeline.empty())
      return PreservedAnalyses::all();
    ModulePassManager Inner;
    if (Error E = All->parseLate(Inner, Unit->Pipeline)) {
      M.getContext().emitError(
          shown("decisions for " + Unit->Name + ": expected a pipeline, got '" +
                Unit->Pipeline.substr(0, 80) + "': " + toString(std::move(E))));
      return PreservedAnalyses::all();
    }
    return Inner.run(M, MAM);
  }
  static bool isRequired() { return true; }

private:
  std::shared_ptr<void> Owner;
  UserPasses *All;
  FindUnit Find;
  AtUnit AtEnd;
  std::optional<OptimizationLevel> Level;
};

/// The functions with decisions that a module has not when its pipeline begins.
using Strangers = std::shared_ptr<std::vector<std::string>>;

/// Sets the size level of functions, before anything else.
class DecidedSizePass : public PassInfoMixin<DecidedSizePass> {
public:
  DecidedSizePass(FindUnit Find, Strangers Unknown, bool Reports)
      : Find(std::move(Find)), Unknown(std::move(Unknown)), Reports(Reports) {}

  PreservedAnalyses run(Module &M, ModuleAnalysisManager &) {
    const UnitDecisions *Unit = Find(M);
    PipelineReportsUnits = Reports;
    Unknown->clear();
    if (!Unit || Unit->Functions.empty())
      return PreservedAnalyses::all();
    for (const auto &[Name, D] : Unit->Functions)
      if (Name != "*" && !M.getFunction(Name))
        Unknown->push_back(Name);
    for (Function &F : M) {
      const FunctionDecisions *D = Unit->function(F.getName());
      if (!D || D->Size.empty() || F.isDeclaration() || F.hasOptNone())
        continue;
      F.removeFnAttr(Attribute::MinSize);
      F.removeFnAttr(Attribute::OptimizeForSize);
      if (D->Size != "speed")
        F.addFnAttr(Attribute::OptimizeForSize);
      if (D->Size == "minsize")
        F.addFnAttr(Attribute::MinSize);
    }
    return PreservedAnalyses::none();
  }
  static bool isRequired() { return true; }

private:
  FindUnit Find;
  Strangers Unknown;
  bool Reports; ///< whether the end of the pipeline tells of a unit's absence
};

/// What to say of functions that \p M has neither had nor got; empty for none.
std::string lostFunctions(std::vector<std::string> &Unknown, const Module &M,
                          const UnitDecisions &Unit) {
  erase_if(Unknown, [&](const std::string &F) { return M.getFunction(F); });
  if (Unknown.empty())
    return "";
  return "decisions for " + Unit.Name + ": " + std::to_string(Unknown.size()) +
         " of " +
         std::to_string(Unit.Functions.size() - Unit.Functions.count("*")) +
         " for functions no longer match one, first that for " +
         Unknown.front() + "; repair the file with `passpilot tune --update`";
}

/// What to say of a unit whose decisions are of another level; empty for none.
std::string otherLevel(const UnitDecisions &Unit,
                       std::optional<OptimizationLevel> Got) {
  const auto Wanted = levelNamed(Unit.Level);
  if (!Wanted || !Got || Wanted->Pipeline == *Got)
    return "";
  std::string Name = "-O0";
  for (const char *Each : {"O1", "O2", "O3", "Os", "Oz"})
    if (levelNamed(Each)->Pipeline == *Got)
      Name = "-" + std::string(Each);
  return "expected -" + Unit.Level + ", at which " + Unit.Name +
         " was searched, got " + Name + "; compile with -" + Unit.Level +
         ", or search again";
}

/// Marks innermost loops with the unroll counts and widths that are decided.
class DecidedLoopPass : public PassInfoMixin<DecidedLoopPass> {
public:
  explicit DecidedLoopPass(FindUnit Find) : Find(std::move(Find)) {}

  PreservedAnalyses run(Function &F, FunctionAnalysisManager &FAM) {
    const UnitDecisions *Unit = Find(*F.getParent());
    const FunctionDecisions *D = Unit ? Unit->function(F.getName()) : nullptr;
    if (D && (D->Unroll || D->Vectorize))
      for (Loop *L : FAM.getResult<LoopAnalysis>(F).getLoopsInPreorder())
        if (L->isInnermost())
          mark(L, *D);
    return PreservedAnalyses::all();
  }

private:
  /// What the program itself says of a loop counts more.
  static void mark(Loop *L, const FunctionDecisions &D) {
    if (D.Unroll && !findOptionMDForLoop(L, Disable) &&
        !findOptionMDForLoop(L, Count))
      addStringMetadataToLoop(L, D.Unroll == 1 ? Disable : Count, D.Unroll);
    if (D.Vectorize && !findOptionMDForLoop(L, Enable) &&
        !findOptionMDForLoop(L, Width) &&
        !findOptionMDForLoop(L, "llvm.loop.isvectorized"))
      addStringMetadataToLoop(L, Width, D.Vectorize);
  }

  static constexpr const char *Disable = "llvm.loop.unroll.disable";
  static constexpr const char *Count = "llvm.loop.unroll.count";
  static constexpr const char *Enable = "llvm.loop.vectorize.enable";
  static constexpr const char *Width = "llvm.loop.vectorize.width";
  FindUnit Find;
};

/// Lets the pipelines of \p PB begin with what \p Find finds about functions.
void registerFunctions(PassBuilder &PB, const FindUnit &Find,
                       const std::shared_ptr<ProfileGate> &Gate,
                       const Strangers &Unknown, bool Reports) {
  const auto AddSizes = [=](ModulePassManager &PM, OptimizationLevel) {
    ModulePassManager Sizes;
    Sizes.addPass(DecidedSizePass(Find, Unknown, Reports));
    addGated(PM, std::move(Sizes), Gate);
  };
  PB.registerPipelineStartEPCallback(AddSizes);
  PB.registerFullLinkTimeOptimizationEarlyEPCallback(AddSizes);
  PB.registerVectorizerStartEPCallback(
      [Find, Gate](FunctionPassManager &PM, OptimizationLevel) {
        FunctionPassManager Counts;
        Counts.addPass(DecidedLoopPass(Find));
        addGated(PM, std::move(Counts), Gate);
      });
}

/// Lets the pipelines of \p PB end with what \p Find finds.
void registerUnits(UserPasses &All, PassBuilder &PB, const FindUnit &Find,
                   const AtUnit &AtEnd) {
  PB.registerOptimizerLastEPCallback(
      [&All, Find, AtEnd](ModulePassManager &PM, OptimizationLevel Level,
                          ThinOrFullLTOPhase Phase) {
        // The linker optimizes what is compiled for it, and decides then.
        if (!All.nested() && (Phase == ThinOrFullLTOPhase::None ||
                              Phase == ThinOrFullLTOPhase::ThinLTOPostLink))
          PM.addPass(DecidedPass(All, Find, AtEnd, Level));
      });
  PB.registerFullLinkTimeOptimizationLastEPCallback(
      [&All, Find, AtEnd](ModulePassManager &PM, OptimizationLevel) {
        if (!All.nested())
          PM.addPass(DecidedPass(All, Find, AtEnd, std::nullopt));
      });
}

} // namespace

Error registerDecisions(UserPasses &Passes, PassBuilder &PB,
                        const std::string &Path, const OnDecided &AtEnd) {
  std::string Wrong;
  auto Read = DecisionFile::read(Path, Wrong);
  if (!Read)
    return createStringError(Wrong);
  auto File = std::make_shared<const DecisionFile>(std::move(*Read));
  const FindUnit Find = [File](const Module &M) {
    return File->find(M.getSourceFileName());
  };
  const auto Unknown = std::make_shared<std::vector<std::string>>();
  const auto Warned = [=](Module &M, const UnitDecisions *U,
                          std::optional<OptimizationLevel> Level) {
    if (U)
      if (std::string Lost = lostFunctions(*Unknown, M, *U); !Lost.empty())
        return AtEnd(M, U, {Lost});
    const std::string Other =
        U ? otherLevel(*U, Level) : File->misfit(M.getSourceFileName());
    AtEnd(M, U,
          {Other.empty() ? "" : "decisions " + Path + ": " + Other, true});
  };
  registerFunctions(PB, Find, Passes.gate(), Unknown, bool(AtEnd));
  registerUnits(Passes, PB, Find, AtEnd ? AtUnit(Warned) : nullptr);
  return Error::success();
}

void registerDecisions(UserPasses &Passes, PassBuilder &PB,
                       UnitDecisions Decided) {
  auto All = std::make_shared<const UnitDecisions>(std::move(Decided));
  const FindUnit Find = [All](const Module &) { return All.get(); };
  registerFunctions(PB, Find, Passes.gate(),
                    std::make_shared<std::vector<std::string>>(), false);
  registerUnits(Passes, PB, Find, nullptr);
}

/// "did you mean ...?", if a pass that policies may run has nearly this name.
static std::string nearestPass(StringRef Name) {
  const std::vector<std::string_view> Passes = permittedPasses();
  const auto Letters = [&](StringRef Pass) {
    return Name.edit_distance(Pass, /*AllowReplacements=*/true, 3);
  };
  const auto Nearest = llvm::min_element(
      Passes, [&](auto A, auto B) { return Letters(A) < Letters(B); });
  if (Nearest == Passes.end() || Letters(*Nearest) > 2)
    return "";
  return ("; did you mean '" + Twine(*Nearest) + "'?").str();
}

Error checkPermitted(StringRef Pipeline) {
  const auto Others = otherPasses(Pipeline);
  if (Others.empty())
    return Error::success();
  return createStringError(Twine("expected ") + ExpectedPass + ", got '" +
                           Others[0] +
                           "' in a pipeline of policy.toml; policies are data: "
                           "load its code yourself, or leave it out" +
                           nearestPass(Others[0]));
}

void registerPipelineBehind(UserPasses &Passes, PassBuilder &PB,
                            const std::string &Text) {
  auto All = std::make_shared<UnitDecisions>();
  All->Pipeline = Text;
  registerUnits(
      Passes, PB, [All](const Module &) { return All.get(); }, nullptr);
}

} // namespace passpilot
