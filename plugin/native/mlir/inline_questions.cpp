// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "inline_questions.h"

#include "../loaded/firewall.h"

#include "llvm/ADT/SCCIterator.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace passpilot {

using ResolvedCall = Inliner::ResolvedCall;

/// The attribute of a refused call; copies of the call have it, too.
static constexpr llvm::StringLiteral Mark = "passpilot_no_inline";

std::optional<bool> Inlining::ask(const ResolvedCall &Call) {
  FunctionSummary *Caller = Summary.find(Call.sourceNode);
  FunctionSummary *Callee = Summary.find(Call.targetNode);
  Summary.contents(*Callee);
  MLIRCallSite Site{Call.call, *Caller, *Callee};
  if (!Legal.allows(Site))
    return std::nullopt;
  observe(Site, Summary, S);
  S.enterContext(Caller->Name);
  InlineQuestion Q(Site);
  const std::optional<Advice> Answer = S.ask(Q);
  if (!Answer) {
    Where = Call.call->getLoc();
    return std::nullopt;
  }
  return Answer->Integer != 0;
}

bool Inlining::wants(const ResolvedCall &Call) {
  Messages Report;
  bool Wanted = false;
  if (!contained(Report, [&] { Wanted = decide(Call); }))
    S.abandon(FailureKind::Model, Report.back().Text);
  return Wanted;
}

bool Inlining::decide(const ResolvedCall &Call) {
  Waiting = nullptr;
  FunctionSummary *Caller = Summary.find(Call.sourceNode);
  FunctionSummary *Callee = Summary.find(Call.targetNode);
  if (!Caller || !Callee || S.stopped())
    return false;
  Summary.reached(*Caller, *Callee);
  if (!ask(Call).value_or(false))
    return false;
  Waiting = Callee;
  Into = Caller;
  Replaced = Call.call;
  return true;
}

void Inlining::inlining(bool Moved) {
  if (Waiting)
    Summary.inlined(Replaced, *Waiting, *Into, Moved);
  Waiting = nullptr;
}

/// The calls in a function, in the order in which MLIR's inliner looks at
/// them: last block first, nested regions after their block.
static void collect(CallGraph &Graph, CallGraphNode *Caller,
                    SymbolTableCollection &Symbols,
                    std::vector<ResolvedCall> &Calls) {
  SmallVector<Block *> Pending;
  auto Add = [&Pending](Region &R) {
    for (Block &B : R)
      Pending.push_back(&B);
  };
  Add(*Caller->getCallableRegion());
  while (!Pending.empty())
    for (Operation &Op : *Pending.pop_back_val()) {
      if (auto Call = dyn_cast<CallOpInterface>(Op)) {
        if (isa_and_nonnull<FlatSymbolRefAttr>(
                dyn_cast<SymbolRefAttr>(Call.getCallableForCallee())))
          if (CallGraphNode *Callee = Graph.resolveCallable(Call, Symbols);
              !Callee->isExternal())
            Calls.emplace_back(Call, Caller, Callee);
        continue;
      }
      for (Region &R : Op.getRegions())
        if (!Graph.lookupNode(&R))
          Add(R);
    }
}

/// Whether MLIR's inliner asks about a call: not about recursion, nor about
/// several blocks where only one may be.
static bool isOpen(const ResolvedCall &Call) {
  Region *Body = Call.targetNode->getCallableRegion();
  Operation *Around = Call.call->getParentOp();
  const bool Recursive =
      llvm::any_of(*Call.targetNode,
                   [&Call](const CallGraphNode::Edge &E) {
                     return E.getTarget() == Call.targetNode ||
                            E.getTarget() == Call.sourceNode;
                   }) ||
      Body->isAncestor(Call.call->getParentRegion());
  const bool Fits = llvm::hasSingleElement(*Body) ||
                    Body->getParentOp()->getName() == Around->getName() ||
                    !Around->mightHaveTrait<OpTrait::SingleBlock>();
  return !Recursive && Fits && !Call.call->hasTrait<OpTrait::IsTerminator>();
}

bool Inlining::markRefused() {
  SymbolTableCollection Symbols;
  std::vector<ResolvedCall> Calls;
  const CallGraph *Whole = &Graph;
  for (auto It = llvm::scc_begin(Whole); !It.isAtEnd(); ++It)
    for (CallGraphNode *Node : *It)
      if (!Node->isExternal())
        collect(Graph, Node, Symbols, Calls);
  bool Asked = false, Accepted = false;
  std::vector<Operation *> Refused;
  for (const ResolvedCall &Call : Calls) {
    if (!isOpen(Call))
      continue;
    const std::optional<bool> Answer = ask(Call);
    if (S.stopped())
      return false;
    if (Answer && !*Answer)
      Refused.push_back(Call.call);
    Asked |= Answer.has_value();
    Accepted |= Answer.value_or(false);
  }
  for (Operation *Call : Refused)
    Call->setAttr(Mark, UnitAttr::get(Call->getContext()));
  return Accepted || !Asked;
}

bool Inlining::isMarked(Operation *Call) { return Call->hasAttr(Mark); }

void Inlining::unmarkAll(Operation *Root) {
  Root->walk([](CallOpInterface Call) { Call->removeAttr(Mark); });
}

} // namespace passpilot
