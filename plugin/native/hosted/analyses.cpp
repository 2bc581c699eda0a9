// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "analyses.h"

#include "../llvm/llvm_options.h"
#include "../llvm/user_pass.h"
#include "access.h"
#include "distribution.h"
#include "module.h"
#include "setup.h"
#include "target.h"
#include "vectorization.h"

#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/Analysis/BlockFrequencyInfo.h"
#include "llvm/Analysis/BranchProbabilityInfo.h"
#include "llvm/Analysis/CGSCCPassManager.h"
#include "llvm/Analysis/FunctionPropertiesAnalysis.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/Passes/PassBuilder.h"

using namespace llvm;

namespace passpilot {

namespace {

/// Scalar evolution for a loop pass, from the analyses LLVM keeps up to date.
struct LoopEvolution {
  LoopEvolution(Function &F, LoopStandardAnalysisResults &R)
      : Assumptions(F, &R.TTI), SE(F, R.TLI, Assumptions, R.DT, R.LI) {}

  AssumptionCache Assumptions;
  ScalarEvolution SE;
};

} // namespace

class OwnAnalyses {
public:
  explicit OwnAnalyses(Module &M)
      : TM(machineFor(M)), TLII(M.getTargetTriple()), PB(TM.get()) {
    FAM.registerPass([&] { return TargetLibraryAnalysis(TLII); });
    FAM.registerPass([&] { return VectorizationAnalysis(this->TM.get()); });
    FAM.registerPass([&] { return DistributionAnalysis(this->TM.get()); });
    PB.registerModuleAnalyses(MAM);
    PB.registerCGSCCAnalyses(CGAM);
    PB.registerFunctionAnalyses(FAM);
    PB.registerLoopAnalyses(LAM);
    PB.crossRegisterProxies(LAM, FAM, CGAM, MAM);
  }
  FunctionAnalysisManager &functions() { return FAM; }
  ScalarEvolution &evolution(Function &F, LoopStandardAnalysisResults &R) {
    if (!OfLoopPass)
      OfLoopPass.emplace(F, R);
    return OfLoopPass->SE;
  }

  void forget() {
    OfLoopPass.reset();
    FAM.clear();
  }
  void forget(Function &F, Change C) {
    OfLoopPass.reset();
    auto Kept = PreservedAnalyses::none();
    if (C == Change::Instructions) {
      Kept.preserve<DominatorTreeAnalysis>();
      Kept.preserve<LoopAnalysis>();
    }
    FAM.invalidate(F, Kept);
  }

private:
  static std::unique_ptr<TargetMachine> machineFor(const Module &M) {
    const Triple &T = M.getTargetTriple();
    if (T.getArch() == Triple::UnknownArch)
      return nullptr;
    const OptionsInUse Used;
    auto TM = makeTarget(T, cpuOf({}), featuresOf({}), flagOptions(T),
                         CodeGenOptLevel::None, {});
    if (TM)
      return std::move(*TM);
    consumeError(TM.takeError()); // like opt: costs then use no target
    return nullptr;
  }

  std::unique_ptr<TargetMachine> TM;
  TargetLibraryInfoImpl TLII;
  LoopAnalysisManager LAM;
  FunctionAnalysisManager FAM;
  CGSCCAnalysisManager CGAM;
  ModuleAnalysisManager MAM;
  PassBuilder PB;
  std::optional<LoopEvolution> OfLoopPass;
};

void OwnAnalysesDeleter::operator()(OwnAnalyses *A) const { delete A; }

void HostedModule::dropAnalyses() { Own.reset(); }

void HostedModule::forgetAnalyses() {
  if (Own)
    Own->forget();
}

OwnAnalyses &HostedModule::analyses() {
  if (!Own)
    Own.reset(new OwnAnalyses(*M));
  return *Own;
}

void HostedModule::changed(Function &F, Change C) {
  if (Pass)
    Pass->noteChange(C);
  if (Own)
    Own->forget(F, C);
}

void HostedModule::erased(GlobalValue &G) {
  if (Pass)
    Pass->noteChange(Change::ControlFlow);
  if (auto *F = dyn_cast<Function>(&G); F && Own)
    Own->functions().clear(*F, F->getName());
}

void HostedModule::changed(GlobalValue &G) {
  if (Pass)
    Pass->noteChange(Change::Instructions);
  if (auto *F = dyn_cast<Function>(&G)) {
    changed(*F);
    if (Own) // LLVM caches the target's view of a function.
      Own->functions().clear(*F, F->getName());
  }
  // For functions outside the pass's unit, LLVM is not notified otherwise.
  const auto Kept = PreservedAnalyses::allInSet<CFGAnalyses>();
  for (User *U : G.users())
    if (auto *I = dyn_cast<Instruction>(U)) {
      changed(*I->getFunction());
      if (Pass)
        Pass->Unit->Managers.Function->invalidate(*I->getFunction(), Kept);
    }
}

[[noreturn]] static void refuse(const Function &F, const char *Expected,
                                const char *Got) {
  throw InputError("analysis of function " + F.getName().str() + ": expected " +
                   Expected + ", got " + Got);
}

static void checkAnalysable(HostedModule &H, const Function &F) {
  if (F.isDeclaration())
    refuse(F, "a body", "a declaration; see is_declaration");
  if (H.Worker != std::thread::id() && !H.Pass)
    refuse(F, "to be asked by a pass, or between compilations",
           "a question while LLVM is at work on the module");
}

/// The results of the running loop pass if it works on \p F; else null.
static LoopStandardAnalysisResults *ofLoopPass(HostedModule &H,
                                               const Function &F) {
  checkAnalysable(H, F);
  return H.Pass && H.Pass->LoopResults && H.Pass->mayChange(F)
             ? H.Pass->LoopResults
             : nullptr;
}

FunctionAnalysisManager &analysesOf(HostedModule &H, Function &F) {
  checkAnalysable(H, F);
  return H.analyses().functions();
}

DominatorTree &dominatorsOf(HostedModule &H, Function &F) {
  if (auto *R = ofLoopPass(H, F))
    return R->DT;
  return analysesOf(H, F).getResult<DominatorTreeAnalysis>(F);
}

LoopInfo &loopsOf(HostedModule &H, Function &F) {
  if (auto *R = ofLoopPass(H, F))
    return R->LI;
  return analysesOf(H, F).getResult<LoopAnalysis>(F);
}

ScalarEvolution &evolutionOf(HostedModule &H, Function &F) {
  if (auto *R = ofLoopPass(H, F))
    return H.analyses().evolution(F, *R);
  return analysesOf(H, F).getResult<ScalarEvolutionAnalysis>(F);
}

TargetTransformInfo &targetOf(HostedModule &H, Function &F) {
  if (auto *R = ofLoopPass(H, F))
    return R->TTI;
  return analysesOf(H, F).getResult<TargetIRAnalysis>(F);
}

double frequencyOf(HostedModule &H, BasicBlock &B) {
  Function &F = *B.getParent();
  auto &BFI = analysesOf(H, F).getResult<BlockFrequencyAnalysis>(F);
  return static_cast<double>(BFI.getBlockFreq(&B).getFrequency()) /
         static_cast<double>(BFI.getEntryFreq().getFrequency());
}

double probabilityOf(HostedModule &H, BasicBlock &From, BasicBlock &To) {
  Function &F = *From.getParent();
  auto &BPI = analysesOf(H, F).getResult<BranchProbabilityAnalysis>(F);
  const BranchProbability P = BPI.getEdgeProbability(&From, &To);
  return static_cast<double>(P.getNumerator()) /
         static_cast<double>(BranchProbability::getDenominator());
}

static MemoryLocation location(const Value &V, std::optional<uint64_t> Size) {
  return Size ? MemoryLocation(&V, LocationSize::precise(*Size))
              : MemoryLocation::getBeforeOrAfter(&V);
}

AliasResult aliasOf(HostedModule &H, Function &F, Value &A,
                    std::optional<uint64_t> SizeA, Value &B,
                    std::optional<uint64_t> SizeB) {
  return analysesOf(H, F).getResult<AAManager>(F).alias(location(A, SizeA),
                                                        location(B, SizeB));
}

InstructionCost costOf(HostedModule &H, Instruction &I,
                       TargetTransformInfo::TargetCostKind Kind) {
  return targetOf(H, *I.getFunction()).getInstructionCost(&I, Kind);
}

/// What an analysis by headers knows of \p L; null for nothing.
template <typename AnalysisT>
static const auto *knownOf(HostedModule &H, const Loop &L) {
  Function &F = *L.getHeader()->getParent();
  const auto &All = analysesOf(H, F).getResult<AnalysisT>(F);
  const auto Found = All.find(L.getHeader());
  return Found == All.end() ? nullptr : &Found->second;
}

const VectorizableLoop *vectorizationOf(HostedModule &H, const Loop &L) {
  return knownOf<VectorizationAnalysis>(H, L);
}

const DistributableLoop *distributionOf(HostedModule &H, const Loop &L) {
  return knownOf<DistributionAnalysis>(H, L);
}

std::map<std::string, int64_t> propertiesOf(HostedModule &H, Function &F) {
  std::string Text;
  raw_string_ostream OS(Text);
  analysesOf(H, F).getResult<FunctionPropertiesAnalysis>(F).print(OS);
  std::map<std::string, int64_t> Properties;
  SmallVector<StringRef, 16> Lines;
  StringRef(Text).split(Lines, '\n', -1, /*KeepEmpty=*/false);
  for (StringRef Line : Lines) {
    auto [Name, Number] = Line.split(':');
    if (int64_t Value; !Number.trim().getAsInteger(10, Value))
      Properties[Name.trim().str()] = Value;
  }
  // LLVM caches the number and does not notice changes in other functions.
  Properties["Uses"] = F.getNumUses() + (F.hasLocalLinkage() ? 0 : 1);
  return Properties;
}

InlineCost inlineCostOf(HostedModule &H, CallBase &CB) {
  Function *Callee = CB.getCalledFunction();
  if (!Callee || Callee->isDeclaration())
    throw InputError("inline_cost of a call in function " +
                     CB.getFunction()->getName().str() +
                     ": expected a direct call of a function with a body, "
                     "got another; see callee");
  FunctionAnalysisManager &FAM = analysesOf(H, *CB.getFunction());
  return getInlineCost(
      CB, getInlineParams(), FAM.getResult<TargetIRAnalysis>(*Callee),
      [&](Function &F) -> AssumptionCache & {
        return FAM.getResult<AssumptionAnalysis>(F);
      },
      [&](Function &F) -> const TargetLibraryInfo & {
        return FAM.getResult<TargetLibraryAnalysis>(F);
      },
      [&](Function &F) -> BlockFrequencyInfo & {
        return FAM.getResult<BlockFrequencyAnalysis>(F);
      });
}

} // namespace passpilot
