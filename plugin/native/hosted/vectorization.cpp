// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "vectorization.h"

#include "../llvm/compat.h"
#include "llvm/Analysis/LoopAccessAnalysis.h"
#include "llvm/Analysis/OptimizationRemarkEmitter.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/Transforms/Vectorize/LoopVectorizationLegality.h"
#include "llvm/Transforms/Vectorize/LoopVectorize.h"

using namespace llvm;

namespace passpilot {

namespace {

/// The number \p Key of a remark; 1 if it has none. A scalable width counts as
/// its known minimum.
unsigned numberOf(const OptimizationRemark &R, StringRef Key) {
  unsigned N = 1;
  for (const auto &Argument : R.getArgs()) {
    StringRef Text = Argument.Val;
    Text.consume_front("vscale x ");
    if (Argument.Key == Key && Text.getAsInteger(10, N))
      N = 1;
  }
  return N;
}

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
    const auto Owned = legalityOf(L, PSE, FAM, Requirements, Hints);
    LoopVectorizationLegality &Legality = *Owned;
    if (F.hasFnAttribute(Attribute::NoImplicitFloat) ||
        !Legality.canVectorize(/*UseVPlanNativePath=*/false) ||
        mayStopEarly(Legality, L, PSE, FAM))
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
    const std::optional<int64_t> Stride = strideOf(Pointer, T, L, PSE, DT);
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

} // namespace

std::optional<VectorizableLoop> examined(LoopCopy &Copy, Loop &L) {
  return LoopExamination(Copy.function(), Copy.analyses(), L).examine();
}

void vectorize(LoopCopy &Copy,
               ArrayRef<std::pair<Loop *, VectorizableLoop *>> Loops) {
  DenseMap<const Value *, VectorizableLoop *> ByRegion;
  for (auto [L, Known] : Loops)
    ByRegion[L->getHeader()] = Known;
  Copy.OnRemark = [&](const OptimizationRemark &R) {
    if (VectorizableLoop *Known = ByRegion.lookup(R.getCodeRegion())) {
      Known->Width = numberOf(R, "VectorizationFactor");
      Known->Interleave = numberOf(R, "InterleaveCount");
    }
  };
  LoopVectorizePass().run(Copy.function(), Copy.analyses());
  Copy.OnRemark = nullptr;
}

std::vector<std::pair<size_t, VectorizableLoop>>
VectorizableLoop::examine(LoopCopy &Copy) {
  std::vector<std::pair<size_t, VectorizableLoop>> All;
  std::vector<Loop *> Loops;
  for (auto [Place, L] : Copy.innermost())
    if (auto Found = examined(Copy, *L)) {
      All.emplace_back(Place, *Found);
      Loops.push_back(L);
    }
  std::vector<std::pair<Loop *, VectorizableLoop *>> Open;
  for (auto [L, Known] : zip(Loops, All))
    Open.emplace_back(L, &Known.second);
  if (!Open.empty())
    vectorize(Copy, Open);
  return All;
}

} // namespace passpilot
