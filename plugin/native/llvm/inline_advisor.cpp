// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "inline_advisor.h"

#include "call_site.h"
#include "llvm_options.h"
#include "points.h"
#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/Analysis/BlockFrequencyInfo.h"
#include "llvm/Analysis/TargetTransformInfo.h"

using namespace llvm;

namespace passpilot {

namespace {

/// A recommendation that changes the books if it is followed.
class BookedAdvice : public InlineAdvice {
public:
  BookedAdvice(passpilot::InlineAdvisor &A, CallBase &CB,
               OptimizationRemarkEmitter &ORE, bool Yes)
      : InlineAdvice(&A, CB, ORE, Yes), A(A) {
    if (Yes)
      A.expectInlining(*Caller, *Callee);
  }

private:
  passpilot::InlineAdvisor &A;

  virtual void remarkInlined() = 0;
  void recordInliningImpl() override { inlined(false); }
  void recordInliningWithCalleeDeletedImpl() override { inlined(true); }
  void inlined(bool CalleeWasDeleted) {
    remarkInlined();
    A.onInlining(*Caller, *Callee, CalleeWasDeleted);
  }
  void recordUnsuccessfulInliningImpl(const InlineResult &R) override {
    ORE.emit([&] {
      return OptimizationRemarkMissed(Advisor->getAnnotatedInlinePassName(),
                                      "NotInlined", DLoc, Block)
             << "'" << ore::NV("Callee", Callee) << "' is not inlined into '"
             << ore::NV("Caller", Caller)
             << "': " << ore::NV("Reason", R.getFailureReason());
    });
  }
};

/// An inlining that LLVM's default makes without a question from its ML
/// advisor.
class UnaskedAdvice final : public BookedAdvice {
public:
  UnaskedAdvice(passpilot::InlineAdvisor &A, CallBase &CB,
                OptimizationRemarkEmitter &ORE, const InlineCost &Cost)
      : BookedAdvice(A, CB, ORE, true), Cost(Cost) {}

private:
  const InlineCost Cost;

  void remarkInlined() override {
    emitInlinedIntoBasedOnCost(ORE, DLoc, Block, *Callee, *Caller, Cost, false,
                               Advisor->getAnnotatedInlinePassName());
  }
};

/// A call that the program wants inlined.
class MandatoryAdvice final : public BookedAdvice {
public:
  MandatoryAdvice(passpilot::InlineAdvisor &A, CallBase &CB,
                  OptimizationRemarkEmitter &ORE)
      : BookedAdvice(A, CB, ORE, true) {}

private:
  void remarkInlined() override {
    emitInlinedInto(
        ORE, DLoc, Block, *Callee, *Caller, /*IsMandatory=*/true,
        [](OptimizationRemark &R) { R << ": always inline attribute"; },
        Advisor->getAnnotatedInlinePassName());
  }
};

/// A decision that the runner was asked about. Emits the default inliner's
/// remarks, with the features added in remark files.
class AskedAdvice final : public BookedAdvice {
public:
  AskedAdvice(passpilot::InlineAdvisor &A, CallBase &CB,
              OptimizationRemarkEmitter &ORE, bool Yes, Session &S)
      : BookedAdvice(A, CB, ORE, Yes), Session(S) {}

private:
  passpilot::Session &Session;

  void remarkInlined() override {
    remark<OptimizationRemark>("Inlined", "' inlined into '", "advised");
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

bool hasRemarks(LLVMContext &C) {
  return C.getLLVMRemarkStreamer() ||
         C.getDiagHandlerPtr()->isAnyRemarkEnabled();
}

} // namespace

/// The features of LLVM's cost analysis come first; one estimate sums them up.
static constexpr size_t CostFeatures =
    static_cast<size_t>(InlineCostFeatureIndex::NumberOfFeatures);

InlineAdvisor::InlineAdvisor(Module &M, ModuleAnalysisManager &MAM,
                             InlineParams Params, passpilot::Session &S)
    : llvm::InlineAdvisor(
          M, MAM.getResult<FunctionAnalysisManagerModuleProxy>(M).getManager()),
      Session(S), Default(FAM, Params),
      PSI(MAM.getResult<ProfileSummaryAnalysis>(M)),
      Remarked(hasRemarks(M.getContext())), Reads(findReads()),
      NeedsCostParts(needsCostParts()),
      NeedsCost(needs({FeatureIndex::cost_estimate})),
      NeedsFunctions(needsFunctions()), Books(M, MAM, FAM, Reads),
      GrowthLimit(growthLimitOfUser()) {
  Session.switchContext("");
}

bool InlineAdvisor::reads(std::initializer_list<FeatureIndex> Any) const {
  return Remarked || any_of(Any, [&](FeatureIndex I) {
           return Session.reads(static_cast<size_t>(I));
         });
}

bool InlineAdvisor::needs(std::initializer_list<FeatureIndex> Any) const {
  return Remarked || any_of(Any, [&](FeatureIndex I) {
           return Session.needs(static_cast<size_t>(I));
         });
}

bool InlineAdvisor::needsCostParts() const {
  for (size_t I = 0; I < CostFeatures; ++I)
    if (needs({static_cast<FeatureIndex>(I)}))
      return true;
  return false;
}

bool InlineAdvisor::needsFunctions() const {
  return needs({FeatureIndex::callee_basic_block_count,
                FeatureIndex::callee_conditionally_executed_blocks,
                FeatureIndex::callee_users,
                FeatureIndex::caller_basic_block_count,
                FeatureIndex::caller_conditionally_executed_blocks,
                FeatureIndex::caller_users});
}

InlineReads InlineAdvisor::findReads() const {
  InlineReads R;
  R.Graph = reads({FeatureIndex::node_count, FeatureIndex::callsite_height});
  R.Edges = reads({FeatureIndex::edge_count});
  R.Uses = reads({FeatureIndex::caller_users, FeatureIndex::callee_users});
  R.Size = Session.Limit > 0 || growthLimitOfUser() > 0;
  return R;
}

void InlineAdvisor::onPassEntry(LazyCallGraph::SCC *SCC) {
  ++Session.Epoch;
  if (!ForceStop)
    Books.enter(SCC);
}

void InlineAdvisor::onPassExit(LazyCallGraph::SCC *SCC) {
  ++Session.Epoch;
  Books.exit(ForceStop ? nullptr : SCC);
}

void InlineAdvisor::expectInlining(Function &Caller, Function &Callee) {
  Books.remember(Caller);
  Books.known(Callee);
}

void InlineAdvisor::onInlining(Function &Caller, Function &Callee,
                               bool CalleeWasDeleted) {
  ++Session.Epoch;
  Books.inlined(Caller, Callee, CalleeWasDeleted);
  ForceStop |= GrowthLimit > 0 && Books.hasGrown(GrowthLimit);
}

std::unique_ptr<InlineAdvice> InlineAdvisor::getMandatoryAdvice(CallBase &CB,
                                                                bool Advice) {
  auto &ORE = getCallerORE(CB);
  Advice &= Books.facts(*CB.getCaller()).isReachable(*CB.getParent());
  if (Advice && !ForceStop)
    return std::make_unique<MandatoryAdvice>(*this, CB, ORE);
  return std::make_unique<InlineAdvice>(this, CB, ORE, Advice);
}

std::unique_ptr<InlineAdvice> InlineAdvisor::getAdviceImpl(CallBase &CB) {
  Function &Caller = *CB.getCaller();
  if (!Books.facts(Caller).isReachable(*CB.getParent()))
    return askDefault(CB);
  auto &ORE = getCallerORE(CB);
  const Outcome Early = decideEarly(CB);
  // LLVM looks at the attributes first when it decides, and doing that again
  // costs a third of its decision.
  const auto Kind = Early && Early->Weighed
                        ? MandatoryInliningKind::NotMandatory
                        : getMandatoryKind(CB, FAM, ORE);
  if (Kind == MandatoryInliningKind::Never || &Caller == CB.getCalledFunction())
    return askDefault(CB, Early);
  const bool Mandatory = Kind == MandatoryInliningKind::Always;
  if (ForceStop) {
    ORE.emit([&] {
      return OptimizationRemarkMissed("inline-ml", "ForceStop", &CB)
             << "Won't attempt inlining because module size grew too much.";
    });
    return std::make_unique<InlineAdvice>(this, CB, ORE, Mandatory);
  }
  if (!analyze(CB, Mandatory))
    return askDefault(CB, Early);
  if (Mandatory)
    return getMandatoryAdvice(CB, true);
  return askSession(CB, Early);
}

InlineAdvisor::Outcome InlineAdvisor::decideEarly(CallBase &CB) {
  if (!Session.readsDefault() || ForceStop || Session.stopped())
    return std::nullopt;
  const Stopwatch Watch;
  Outcome Result = Default.decide(CB);
  Session.Counts.DefaultSeconds += Watch.seconds();
  return Result;
}

/// Whether LLVM's cost analysis could find that the call cannot be inlined;
/// true if in doubt.
bool InlineAdvisor::mayRefuse(CallBase &CB) {
  Function &Caller = *CB.getCaller(), &Callee = *CB.getCalledFunction();
  FunctionFacts &Facts = Books.facts(Callee);
  if (Facts.isUnusual(Callee))
    return true;
  // An indirect call may turn out to be a recursion.
  if (Facts.callsIndirectly(Callee) && Callee.hasAddressTaken())
    return true;
  // Callers that call themselves, or that want it, have a limited stack.
  if (!Facts.allocates(Callee))
    return false;
  return isGiven("inline-max-stacksize") ||
         Caller.hasFnAttribute(
             InlineConstants::MaxInlineStackSizeAttributeName) ||
         any_of(Caller.users(), [&](const User *U) {
           const auto *Call = dyn_cast<CallBase>(U);
           return Call && Call->getFunction() == &Caller;
         });
}

bool InlineAdvisor::analyze(CallBase &CB, bool Mandatory) {
  const bool Doubtful = !(NeedsCostParts && NeedsCost) && mayRefuse(CB);
  if (!Mandatory && (NeedsCost || Doubtful) && !estimateCost(CB))
    return false;
  return !(NeedsCostParts || Doubtful) || countCostParts(CB);
}

bool InlineAdvisor::estimateCost(CallBase &CB) {
  const auto Cost = getInliningCostEstimate(
      CB, FAM.getResult<TargetIRAnalysis>(*CB.getCalledFunction()),
      [&](Function &F) -> AssumptionCache & {
        return FAM.getResult<AssumptionAnalysis>(F);
      });
  if (Cost)
    set(FeatureIndex::cost_estimate, *Cost);
  return Cost.has_value();
}

bool InlineAdvisor::countCostParts(CallBase &CB) {
  const auto Parts = getInliningCostFeatures(
      CB, FAM.getResult<TargetIRAnalysis>(*CB.getCalledFunction()),
      [&](Function &F) -> AssumptionCache & {
        return FAM.getResult<AssumptionAnalysis>(F);
      });
  if (!Parts)
    return false;
  for (size_t I = 0; I < CostFeatures; ++I)
    set(static_cast<FeatureIndex>(I), (*Parts)[I]);
  return true;
}

void InlineAdvisor::describeFunctions(CallBase &CB) {
  const KnownFunction &From = Books.known(*CB.getCaller()),
                      &To = Books.known(*CB.getCalledFunction());
  set(FeatureIndex::callee_basic_block_count, To.Counts.Blocks);
  set(FeatureIndex::callee_conditionally_executed_blocks,
      To.Counts.ConditionalBlocks);
  set(FeatureIndex::callee_users, To.Uses);
  set(FeatureIndex::caller_basic_block_count, From.Counts.Blocks);
  set(FeatureIndex::caller_conditionally_executed_blocks,
      From.Counts.ConditionalBlocks);
  set(FeatureIndex::caller_users, From.Uses);
}

/// A policy in Python reads a feature that it did not declare.
void InlineAdvisor::describeRest(CallBase &CB) {
  if (!NeedsCost)
    estimateCost(CB);
  if (!NeedsCostParts)
    countCostParts(CB);
  if (!NeedsFunctions)
    describeFunctions(CB);
}

/// Computes the other features, as far as they are read.
void InlineAdvisor::describe(CallBase &CB) {
  Function &Caller = *CB.getCaller(), &Callee = *CB.getCalledFunction();
  if (NeedsFunctions)
    describeFunctions(CB);
  if (Reads.Graph) {
    set(FeatureIndex::callsite_height, Books.height(Caller));
    set(FeatureIndex::node_count, Books.nodes());
  }
  if (Reads.Edges)
    set(FeatureIndex::edge_count, Books.edges());
  set(FeatureIndex::nr_ctant_params,
      count_if(CB.args(), [](const Use &U) { return isa<Constant>(U); }));
  set(FeatureIndex::is_callee_avail_external,
      Callee.hasAvailableExternallyLinkage());
  set(FeatureIndex::is_caller_avail_external,
      Caller.hasAvailableExternallyLinkage());
}

std::unique_ptr<InlineAdvice> InlineAdvisor::askSession(CallBase &CB,
                                                        const Outcome &Early) {
  describe(CB);
  // The default inliner has the block frequencies at every call site whose
  // caller is not optimized for size alone, or has a profile. We always compute
  // them there, so that the output does not depend on whether the default
  // decision is read.
  Function &Caller = *CB.getCaller();
  if (!Caller.hasMinSize() || PSI.hasProfileSummary())
    FAM.getResult<BlockFrequencyAnalysis>(Caller);
  auto Decide = [&] {
    return (Early ? *Early : Default.decide(CB)).Yes.has_value();
  };
  auto DescribeRest = [&] { describeRest(CB); };
  auto Facts = [&](Function &F) -> FunctionFacts & { return Books.facts(F); };
  CallQuestion Question(CB, Decide, DescribeRest, Facts);
  const auto Answer =
      Session.ask(Question, Session.Limit > 0 && Books.hasGrown(Session.Limit));
  const bool Yes = Answer && Answer->Integer;
  return std::make_unique<AskedAdvice>(*this, CB, getCallerORE(CB), Yes,
                                       Session);
}

/// Decides as LLVM's default where its ML advisor refuses without a question:
/// the call is in an unreachable block, recursive, forbidden, or beyond the
/// features.
std::unique_ptr<InlineAdvice> InlineAdvisor::askDefault(CallBase &CB,
                                                        const Outcome &Early) {
  auto &ORE = getCallerORE(CB);
  if (!ForceStop && !Session.stopped())
    if (const auto Cost = (Early ? *Early : Default.decide(CB)).Yes) {
      ++Session.Counts.NotAskable;
      return std::make_unique<UnaskedAdvice>(*this, CB, ORE, *Cost);
    }
  return std::make_unique<InlineAdvice>(this, CB, ORE, false);
}

//===-- Compilation -------------------------------------------------------===//

namespace {
struct Entry {
  ModuleAnalysisManager *MAM;
  Session *Inline;
  std::shared_ptr<ProfileGate> Gate;
  Compilation *Owner;
};
} // namespace

static thread_local DenseMap<Module *, Entry> Compilations;

llvm::InlineAdvisor *Compilation::advisor(Module &M,
                                          FunctionAnalysisManager &FAM,
                                          InlineParams Params,
                                          InlineContext Context) {
  const auto Found = Compilations.find(&M);
  if (Found == Compilations.end() || !Found->second.Gate->open() ||
      Context.Pass == InlinePass::EarlyInliner)
    return new DefaultInlineAdvisor(M, FAM, Params, Context);
  Entry &E = Found->second;
  E.Owner->HasReached = true;
  return new passpilot::InlineAdvisor(M, *E.MAM, Params, *E.Inline);
}

Compilation::Compilation(Module &M, ModuleAnalysisManager &MAM, Session &Inline,
                         std::shared_ptr<ProfileGate> Gate)
    : M(M) {
  Compilations[&M] = {&MAM, &Inline, std::move(Gate), this};
  Inline.begin(M.getSourceFileName());
}

Compilation::~Compilation() {
  // A later module may have the address, and a compilation of its own.
  const auto Found = Compilations.find(&M);
  if (Found != Compilations.end() && Found->second.Owner == this)
    Compilations.erase(Found);
}

} // namespace passpilot
