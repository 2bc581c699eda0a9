// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "vectorization.h"

#include "errors.h"
#include "function_copy.h"
#include "setup.h"

#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/Analysis/DemandedBits.h"
#include "llvm/Analysis/LoopAccessAnalysis.h"
#include "llvm/Analysis/OptimizationRemarkEmitter.h"
#include "llvm/Analysis/ProfileSummaryInfo.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/IR/DiagnosticHandler.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/LoopRotation.h"
#include "llvm/Transforms/Vectorize/LoopVectorizationLegality.h"
#include "llvm/Transforms/Vectorize/LoopVectorize.h"

using namespace llvm;

namespace passpilot {

AnalysisKey VectorizationAnalysis::Key;

namespace {

/// Reads LLVM's choices from the remarks of its vectorizer.
class ChoiceReader final : public DiagnosticHandler {
public:
  DenseMap<const Value *, VectorizableLoop *> ByHeader;

  bool isAnyRemarkEnabled() const override { return true; }
  bool isPassedOptRemarkEnabled(StringRef) const override { return true; }
  bool isMissedOptRemarkEnabled(StringRef) const override { return false; }
  bool isAnalysisRemarkEnabled(StringRef) const override { return false; }

  bool handleDiagnostics(const DiagnosticInfo &DI) override {
    if (auto *R = dyn_cast<OptimizationRemark>(&DI))
      if (VectorizableLoop *L = ByHeader.lookup(R->getCodeRegion())) {
        L->Width = number(*R, "VectorizationFactor");
        L->Interleave = number(*R, "InterleaveCount");
      }
    return true;
  }

private:
  /// The number \p Key of the remark; 1 if it has none. A scalable width counts
  /// as its known minimum.
  static unsigned number(const OptimizationRemark &R, StringRef Key) {
    unsigned N = 1;
    for (const auto &Argument : R.getArgs()) {
      StringRef Text = Argument.Val;
      Text.consume_front("vscale x ");
      if (Argument.Key == Key && Text.getAsInteger(10, N))
        N = 1;
    }
    return N;
  }
};

/// LLVM's analyses of the copy.
class CopyAnalyses {
public:
  explicit CopyAnalyses(TargetMachine *TM) : PB(TM) {
    PB.registerModuleAnalyses(MAM);
    PB.registerCGSCCAnalyses(CGAM);
    PB.registerFunctionAnalyses(FAM);
    PB.registerLoopAnalyses(LAM);
    PB.crossRegisterProxies(LAM, FAM, CGAM, MAM);
  }
  LoopAnalysisManager LAM;
  FunctionAnalysisManager FAM;
  CGSCCAnalysisManager CGAM;
  ModuleAnalysisManager MAM;

private:
  PassBuilder PB;
};

/// Examines one loop of the copy.
class LoopExamination {
public:
  LoopExamination(Function &F, FunctionAnalysisManager &FAM, Loop &L)
      : F(F), L(L), FAM(FAM), DT(FAM.getResult<DominatorTreeAnalysis>(F)),
        TTI(FAM.getResult<TargetIRAnalysis>(F)),
        ORE(FAM.getResult<OptimizationRemarkEmitterAnalysis>(F)),
        PSE(FAM.getResult<ScalarEvolutionAnalysis>(F), L) {}

  /// What there is to know; nothing if LLVM cannot vectorize the loop.
  std::optional<VectorizableLoop> examine() {
    LoopVectorizationRequirements Requirements;
    LoopVectorizeHints Hints(&L, /*InterleaveOnlyWhenForced=*/false, ORE, &TTI);
    LoopVectorizationLegality Legality(
        &L, PSE, &DT, &TTI, &FAM.getResult<TargetLibraryAnalysis>(F), &F,
        FAM.getResult<LoopAccessAnalysis>(F), &FAM.getResult<LoopAnalysis>(F),
        &ORE, &Requirements, &Hints, &FAM.getResult<DemandedBitsAnalysis>(F),
        &FAM.getResult<AssumptionAnalysis>(F),
        /*AllowRuntimeSCEVChecks=*/!F.hasOptSize(),
        &FAM.getResult<AAManager>(F));
    if (F.hasFnAttribute(Attribute::NoImplicitFloat) ||
        !Legality.canVectorize(/*UseVPlanNativePath=*/false) ||
        Legality.hasUncountableExitWithSideEffects())
      return std::nullopt;
    Found.Exact = Requirements.getExactFPInst();
    if (!Legality.isSafeForAnyVectorWidth())
      Found.SafeBits = safeBits(Legality);
    Found.RegisterBits = static_cast<unsigned>(
        TTI.getRegisterBitWidth(TargetTransformInfo::RGK_FixedWidthVector)
            .getFixedValue());
    count(Legality);
    for (BasicBlock *B : L.blocks())
      for (Instruction &I : *B)
        if (Value *P = getLoadStorePointerOperand(&I))
          access(getLoadStoreType(&I), P);
    return Found;
  }

private:
  Function &F;
  Loop &L;
  FunctionAnalysisManager &FAM;
  DominatorTree &DT;
  TargetTransformInfo &TTI;
  OptimizationRemarkEmitter &ORE;
  PredicatedScalarEvolution PSE;
  VectorizableLoop Found;

  static uint64_t safeBits(const LoopVectorizationLegality &Legality) {
    uint64_t Bits = Legality.getMaxSafeVectorWidthInBits();
    if (!Legality.isSafeForAnyStoreLoadForwardDistances())
      Bits =
          std::min(Bits, Legality.getMaxStoreLoadForwardSafeDistanceInBits());
    return Bits;
  }

  void count(LoopVectorizationLegality &Legality) {
    Found.Inductions =
        static_cast<unsigned>(Legality.getInductionVars().size());
    Found.Reductions =
        static_cast<unsigned>(Legality.getReductionVars().size());
    Found.Recurrences = Legality.getFixedOrderRecurrences().size();
    Found.PointerChecks = Legality.getLAI()->getNumRuntimePointerChecks();
    Found.Assumptions = PSE.getPredicate().getComplexity();
    Found.EarlyExit = Legality.hasUncountableEarlyExit();
    for (BasicBlock *B : L.blocks())
      Found.MaskedBlocks += Legality.blockNeedsPredication(B);
    for (const auto &[Phi, Reduction] : Legality.getReductionVars())
      widen(Reduction.getRecurrenceType());
  }

  void widen(Type *T) {
    const auto Bits = static_cast<unsigned>(
        F.getDataLayout().getTypeSizeInBits(T->getScalarType()));
    Found.WidestBits = std::max(Found.WidestBits, Bits);
    Found.NarrowestBits =
        Found.NarrowestBits ? std::min(Found.NarrowestBits, Bits) : Bits;
  }

  /// Counts a load or store of \p T at \p Pointer.
  void access(Type *T, Value *Pointer) {
    widen(T);
    const uint64_t Size =
        F.getDataLayout().getTypeStoreSize(T).getKnownMinValue();
    const DenseMap<Value *, const SCEV *> NoStrides;
    const std::optional<int64_t> Stride =
        getPtrStride(PSE, T, Pointer, &L, DT, NoStrides, /*Assume=*/false,
                     /*ShouldCheckWrap=*/false);
    if (!Stride) {
      ++Found.Irregular;
      Found.Bytes += Size;
      return;
    }
    const uint64_t Distance = *Stride < 0 ? -static_cast<uint64_t>(*Stride)
                                          : static_cast<uint64_t>(*Stride);
    ++(*Stride == 0    ? Found.Invariant
       : *Stride == 1  ? Found.Consecutive
       : *Stride == -1 ? Found.Reversed
                       : Found.Strided);
    Found.Bytes += Distance * Size;
  }
};

/// Puts the loops into the form that LLVM's pipelines give them before they
/// are vectorized. Neither pass invalidates the loops.
void prepareLoops(Function &F, FunctionAnalysisManager &FAM) {
  FunctionPassManager PM;
  PM.addPass(createFunctionToLoopPassAdaptor(LoopRotatePass(!F.hasMinSize())));
  PM.run(F, FAM);
}

/// The place of each block in its function.
DenseMap<const BasicBlock *, size_t> placesOf(const Function &F) {
  DenseMap<const BasicBlock *, size_t> Places;
  for (const BasicBlock &B : F)
    Places[&B] = Places.size();
  return Places;
}

/// What there is to know of the innermost loops of a copy, which is
/// vectorized then; by the places of the headers.
std::vector<std::pair<size_t, VectorizableLoop>>
examineAll(FunctionCopy &Copy, FunctionAnalysisManager &FAM) {
  Function &F = Copy.function();
  auto Handler = std::make_unique<ChoiceReader>();
  ChoiceReader &Choices = *Handler;
  Copy.context().setDiagnosticHandler(std::move(Handler));
  const auto Places = placesOf(F);
  DenseMap<const Loop *, size_t> PlaceOf;
  for (const Loop *L : FAM.getResult<LoopAnalysis>(F).getLoopsInPreorder())
    PlaceOf[L] = Places.lookup(L->getHeader());
  prepareLoops(F, FAM);
  std::vector<std::pair<size_t, VectorizableLoop>> All;
  std::vector<const BasicBlock *> Headers;
  for (Loop *L : FAM.getResult<LoopAnalysis>(F).getLoopsInPreorder())
    if (auto Place = PlaceOf.find(L);
        Place != PlaceOf.end() && L->isInnermost())
      if (auto Found = LoopExamination(F, FAM, *L).examine()) {
        All.emplace_back(Place->second, *Found);
        Headers.push_back(L->getHeader());
      }
  for (auto [Header, Known] : zip(Headers, All))
    Choices.ByHeader[Header] = &Known.second;
  if (!All.empty())
    LoopVectorizePass().run(F, FAM);
  return All;
}

} // namespace

VectorizableLoops VectorizationAnalysis::run(Function &F,
                                             FunctionAnalysisManager &FAM) {
  VectorizableLoops Loops;
  if (FAM.getResult<LoopAnalysis>(F).empty())
    return Loops;
  const OptionsInUse Used;
  std::optional<FunctionCopy> Copy;
  try {
    Copy.emplace(F);
  } catch (IRError &) {
    return Loops;
  }
  CopyAnalyses Analyses(TM);
  Analyses.MAM.getResult<ProfileSummaryAnalysis>(Copy->module());
  const auto Known = examineAll(*Copy, Analyses.FAM);
  std::vector<const BasicBlock *> Blocks;
  for (const BasicBlock &B : F)
    Blocks.push_back(&B);
  for (const auto &[Place, Loop] : Known)
    Loops[Blocks[Place]] = Loop;
  return Loops;
}

} // namespace passpilot
