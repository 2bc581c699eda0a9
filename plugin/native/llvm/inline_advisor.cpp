// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "inline_advisor.h"

#include "call_site.h"
#include "compat.h"
#include "compilation.h"
#include "points.h"
#include "llvm/Analysis/BlockFrequencyInfo.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"

using namespace llvm;

namespace passpilot {

namespace {

/// Gives LLVM's feature extraction the session's buffers. evaluate() is unused:
/// the session asks the actual runner.
class FeatureBuffers final : public MLModelRunner {
public:
  FeatureBuffers(LLVMContext &Ctx, const std::vector<llvm::TensorSpec> &Specs,
                 Session &S)
      : MLModelRunner(Ctx, Kind::Release, Specs.size()) {
    // Features that LLVM adds to its 38 (embeddings) get unread buffers.
    for (size_t I = 0; I < Specs.size(); ++I)
      setUpBufferForTensor(I, Specs[I],
                           I < inlinePoint().Features.size() ? S.feature(I)
                                                             : nullptr);
  }

private:
  void *evaluateUntyped() override { return nullptr; }
};

/// An inlining that LLVM's default makes without a question from its ML
/// advisor.
class UnaskedAdvice final : public InlineAdvice {
public:
  UnaskedAdvice(passpilot::InlineAdvisor &A, CallBase &CB,
                OptimizationRemarkEmitter &ORE, const InlineCost &Cost)
      : InlineAdvice(&A, CB, ORE, true), A(A), Cost(Cost),
        EdgesBefore(A.getLocalCalls(*Caller) +
                    (Callee == Caller ? 0 : A.getLocalCalls(*Callee))),
        SizeBefore(A.getIRSize(*Caller) +
                   (Callee == Caller ? 0 : A.getIRSize(*Callee))) {}

private:
  passpilot::InlineAdvisor &A;
  const InlineCost Cost;
  const int64_t EdgesBefore, SizeBefore;

  void recordInliningImpl() override { inlined(false); }
  void recordInliningWithCalleeDeletedImpl() override { inlined(true); }
  void recordUnsuccessfulInliningImpl(const InlineResult &R) override {
    ORE.emit([&] {
      return OptimizationRemarkMissed(Advisor->getAnnotatedInlinePassName(),
                                      "NotInlined", DLoc, Block)
             << "'" << ore::NV("Callee", Callee) << "' is not inlined into '"
             << ore::NV("Caller", Caller)
             << "': " << ore::NV("Reason", R.getFailureReason());
    });
  }
  void inlined(bool CalleeWasDeleted) {
    emitInlinedIntoBasedOnCost(ORE, DLoc, Block, *Callee, *Caller, Cost, false,
                               Advisor->getAnnotatedInlinePassName());
    A.onUnaskedInlining(*Caller, *Callee, EdgesBefore, SizeBefore,
                        CalleeWasDeleted);
  }
};

/// A decision that the runner was asked about. Reports changes to the session
/// and emits the default inliner's remarks, with the features added in remark
/// files.
class AskedAdvice final : public MLInlineAdvice {
public:
  AskedAdvice(MLInlineAdvisor *A, CallBase &CB, OptimizationRemarkEmitter &ORE,
              bool Yes, Session &S)
      : MLInlineAdvice(A, CB, ORE, Yes), Books(*A), Session(S) {}

private:
  MLInlineAdvisor &Books;
  passpilot::Session &Session;

  void recordInliningImpl() override { inlined(false); }
  void recordInliningWithCalleeDeletedImpl() override { inlined(true); }
  void inlined(bool CalleeWasDeleted) {
    ++Session.Epoch;
    remark<OptimizationRemark>("Inlined", "' inlined into '", "advised");
    Books.onSuccessfulInlining(*this, CalleeWasDeleted);
  }
  void recordUnattemptedInliningImpl() override {
    remark<OptimizationRemarkMissed>("NotInlined", "' not inlined into '",
                                     "advised against");
  }

  template <typename Remark>
  void remark(const char *Name, const char *Verb, const char *Why) {
    ORE.emit([&] {
      Remark R(Advisor->getAnnotatedInlinePassName(), Name, DLoc, Block);
      R << "'" << ore::NV("Callee", Callee) << Verb << ore::NV("Caller", Caller)
        << "': " << ore::NV("Reason", Why);
      R << ore::setExtraArgs();
      for (size_t I = 0; I < inlinePoint().Features.size(); ++I)
        R << ore::NV(inlinePoint().Features[I].Name,
                     *static_cast<int64_t *>(Session.feature(I)));
      return R;
    });
  }
};

} // namespace

InlineAdvisor::InlineAdvisor(Module &M, ModuleAnalysisManager &MAM,
                             InlineParams Params, passpilot::Session &S)
    : MLInlineAdvisor(
          M, MAM,
          [&](const std::vector<llvm::TensorSpec> &Specs) {
            return std::make_unique<FeatureBuffers>(M.getContext(), Specs, S);
          },
          [this](CallBase &CB) { return Default.decide(CB).has_value(); }),
      Session(S), Default(FAM, Params),
      CG(MAM.getResult<LazyCallGraphAnalysis>(M)) {
  Session.switchContext("");
}

void InlineAdvisor::onPassEntry(LazyCallGraph::SCC *SCC) {
  ++Session.Epoch;
  MLInlineAdvisor::onPassEntry(SCC);
}

void InlineAdvisor::onPassExit(LazyCallGraph::SCC *SCC) {
  ++Session.Epoch;
  MLInlineAdvisor::onPassExit(SCC);
}

std::unique_ptr<InlineAdvice> InlineAdvisor::getAdviceImpl(CallBase &CB) {
  Asked = false;
  auto Advice = MLInlineAdvisor::getAdviceImpl(CB);
  if (!Asked && Advice->isInliningRecommended())
    ++Session.Epoch; // LLVM inlines without a question
  if (Asked || Advice->isInliningRecommended() || isForcedToStop() ||
      Session.stopped())
    return Advice;
  // LLVM's ML advisor refused without a question: the call is in an unreachable
  // block, recursive, forbidden, or beyond its features. Ask the default.
  std::optional<InlineCost> Cost = Default.decide(CB);
  if (!Cost)
    return Advice;
  Advice->recordUnattemptedInlining(); // LLVM wants each advice recorded once
  ++Session.Counts.NotAskable;
  return std::make_unique<UnaskedAdvice>(*this, CB, getCallerORE(CB), *Cost);
}

std::unique_ptr<MLInlineAdvice>
InlineAdvisor::getAdviceFromModel(CallBase &CB,
                                  OptimizationRemarkEmitter &ORE) {
  Asked = true;
  // The default inliner has the block frequencies at every call site. We always
  // compute them, so that the output does not depend on whether the default
  // decision is read.
  FAM.getResult<BlockFrequencyAnalysis>(*CB.getCaller());
  CallQuestion Question(CB, [&] { return Default.decide(CB).has_value(); });
  const auto Answer = Session.ask(Question, overBudget());
  const bool Yes = Answer && Answer->Integer;
  return std::make_unique<AskedAdvice>(this, CB, ORE, Yes, Session);
}

bool InlineAdvisor::overBudget() {
  const double Limit = Session.Limit;
  const InlineBooks Books = booksOf(*this);
  return Limit > 0 && Books.CurrentIRSize > Limit * Books.InitialIRSize;
}

void InlineAdvisor::onUnaskedInlining(Function &Caller, Function &Callee,
                                      int64_t EdgesBefore, int64_t SizeBefore,
                                      bool CalleeWasDeleted) {
  ++Session.Epoch;
  PreservedAnalyses PA = PreservedAnalyses::all();
  PA.abandon<FunctionPropertiesAnalysis>();
  PA.abandon<DominatorTreeAnalysis>();
  PA.abandon<LoopAnalysis>();
  FAM.invalidate(Caller, PA);
  getCachedFPI(Caller) = FAM.getResult<FunctionPropertiesAnalysis>(Caller);
  const InlineBooks Books = booksOf(*this);
  int64_t Edges = getLocalCalls(Caller), Size = getIRSize(Caller);
  if (CalleeWasDeleted) {
    --Books.NodeCount;
    Books.NodesInLastSCC.erase(CG.lookup(Callee));
    Books.DeadFunctions.insert(&Callee);
  } else if (&Callee != &Caller) {
    Edges += getLocalCalls(Callee);
    Size += getIRSize(Callee);
  }
  Books.EdgeCount += Edges - EdgesBefore;
  Books.CurrentIRSize += static_cast<int32_t>(Size - SizeBefore);
}

//===-- Compilation -------------------------------------------------------===//

namespace {
struct Entry {
  ModuleAnalysisManager *MAM;
  Session *Inline;
};
} // namespace

static thread_local DenseMap<Module *, Entry> Compilations;

llvm::InlineAdvisor *Compilation::advisor(Module &M, FunctionAnalysisManager &,
                                          InlineParams Params, InlineContext) {
  const auto Found = Compilations.find(&M);
  if (Found == Compilations.end())
    return nullptr;
  const Entry &E = Found->second;
  return new passpilot::InlineAdvisor(M, *E.MAM, Params, *E.Inline);
}

Compilation::Compilation(Module &M, ModuleAnalysisManager &MAM, Session &Inline)
    : M(M) {
  Compilations[&M] = {&MAM, &Inline};
  Inline.begin(M.getSourceFileName());
}

Compilation::~Compilation() { Compilations.erase(&M); }

} // namespace passpilot
