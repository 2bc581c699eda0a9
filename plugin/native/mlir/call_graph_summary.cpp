// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "call_graph_summary.h"

#include "llvm/ADT/SCCIterator.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace passpilot {

/// Whether operations of this name call a symbol: upstream's by a list, other
/// dialects' by their interface.
static bool isCall(OperationName Name) {
  const StringRef Dialect = Name.getDialectNamespace();
  if (Dialect == "func" || Dialect == "llvm")
    return Name.stripDialect() == "call";
  return Name.hasInterface<CallOpInterface>();
}

MLIRName CallGraphSummary::kindOf(OperationName Name) {
  // The value is made of the text only if the name is new.
  auto [It, New] =
      Kinds.try_emplace(Name, std::string_view(Name.getStringRef()));
  if (New)
    It->second.Call = isCall(Name);
  return It->second;
}

/// Adds the contents of \p Op to \p C; its body is \p Level regions deep.
void CallGraphSummary::count(Operation *Op, Contents &C, int64_t Level) {
  for (Region &R : Op->getRegions())
    for (Block &B : R) {
      ++C.Blocks;
      C.Depth = std::max(C.Depth, Level);
      for (Operation &Inner : B) {
        const MLIRName Name = kindOf(Inner.getName());
        ++C.Operations;
        ++C.OfDialect[Name.Dialect];
        C.Loops += Name.Loop;
        C.Calls += Name.Call;
        if (!Name.Flat)
          refer(Inner, Name.Call, C);
        if (!Name.Flat && !Name.Call)
          count(&Inner, C, Level + 1);
      }
    }
}

CallGraphSummary::CallGraphSummary(Operation *Root, const CallGraph &Graph) {
  size_t Component = 0;
  for (auto It = llvm::scc_begin(&Graph); !It.isAtEnd(); ++It, ++Component) {
    SmallVector<CallGraphNode *, 1> Nodes;
    for (CallGraphNode *Node : *It)
      if (!Node->isExternal())
        Nodes.push_back(Node);
    for (CallGraphNode *Node : Nodes)
      add(Node, Component, Nodes.size());
    measureHeights(Nodes);
  }
  for (FunctionSummary &F : All) {
    const auto Visibility = SymbolTable::getSymbolVisibility(F.Function);
    const bool AllUsesVisible = F.Table == Root && !Root->getParentOp();
    F.Discardable =
        Visibility == SymbolTable::Visibility::Private ||
        (AllUsesVisible && Visibility == SymbolTable::Visibility::Nested);
  }
  countUses();
}

void CallGraphSummary::add(const CallGraphNode *Node, size_t Component,
                           size_t Size) {
  FunctionSummary &F = All.emplace_back();
  F.Function = Node->getCallableRegion()->getParentOp();
  F.Table = F.Function->getParentOp();
  F.Component = Component;
  F.ComponentSize = static_cast<int64_t>(Size);
  F.Recursive = Size > 1;
  ByNode[Node] = ByFunction[F.Function] = &F;
  ++Functions[F.Table];
  if (auto Name = F.Function->getAttrOfType<StringAttr>(
          SymbolTable::getSymbolAttrName())) {
    F.Name = Name.str();
    BySymbol[{F.Table, Name}] = &F;
  }
}

void CallGraphSummary::measureHeights(ArrayRef<CallGraphNode *> Component) {
  int64_t Height = 0;
  for (CallGraphNode *Node : Component)
    for (const CallGraphNode::Edge &E : *Node) {
      const FunctionSummary *Target = find(E.getTarget());
      if (!E.isCall() || !Target)
        continue;
      if (E.getTarget() == Node)
        find(Node)->Recursive = true;
      if (Target->Component != find(Node)->Component)
        Height = std::max(Height, Target->Height + 1);
    }
  for (CallGraphNode *Node : Component)
    find(Node)->Height = Height;
}

void CallGraphSummary::countUses() {
  for (FunctionSummary &F : All)
    use(F, contents(F), 1);
  for (auto &[Table, Count] : Functions)
    for (Region &R : Table->getRegions())
      for (Operation &Op : R.getOps()) {
        Contents Mentioned;
        refer(Op, /*IsCall=*/false, Mentioned);
        if (!ByFunction.contains(&Op))
          count(&Op, Mentioned);
        keep(Table, Mentioned);
      }
}

/// Functions that are mentioned outside of functions are not discardable.
void CallGraphSummary::keep(Operation *Table, const Contents &Mentioned) {
  for (auto &[Symbol, Count] : Mentioned.References)
    if (FunctionSummary *Target = BySymbol.lookup({Table, Symbol}))
      Target->Discardable = false;
}

void CallGraphSummary::use(const FunctionSummary &User, const Contents &C,
                           int64_t Sign) {
  for (auto &[Symbol, Count] : C.References)
    if (FunctionSummary *Target = BySymbol.lookup({User.Table, Symbol}))
      Target->Uses += Sign * Count;
}

const Contents &CallGraphSummary::contents(FunctionSummary &F) {
  if (F.Stale) {
    F.Contents = Contents();
    count(F.Function, F.Contents);
    F.Operations = F.Contents.Operations;
    F.Blocks = F.Contents.Blocks;
    F.Calls = F.Contents.Calls;
    F.Stale = false;
  }
  return F.Contents;
}

/// Counts the symbols that \p Op mentions.
void CallGraphSummary::refer(Operation &Op, bool IsCall, Contents &C) {
  auto Mention = [&C](SymbolRefAttr Symbol) {
    ++C.References[Symbol.getRootReference()];
    return WalkResult::skip();
  };
  DictionaryAttr Attributes = Op.getDiscardableAttrDictionary();
  if (IsCall) {
    if (auto Call = dyn_cast<CallOpInterface>(Op))
      if (auto Callee = dyn_cast<SymbolRefAttr>(Call.getCallableForCallee()))
        Mention(Callee);
  } else if (Op.getPropertiesStorageSize()) {
    Attributes = Op.getAttrDictionary();
  }
  if (!Attributes.empty())
    Attributes.walk<WalkOrder::PreOrder>(Mention);
}

void CallGraphSummary::simplified(Operation *Function) {
  std::lock_guard<std::mutex> Lock(Mutex);
  if (FunctionSummary *F = ByFunction.lookup(Function)) {
    visitUntil(F->Component);
    recount(*F);
  }
}

void CallGraphSummary::reached(FunctionSummary &Caller,
                               FunctionSummary &Callee) {
  visitUntil(Caller.Component + 1);
  if (Callee.Grown)
    recount(Callee);
  if (Caller.Inexact)
    recount(Caller);
}

/// Recounts a function; a function without symbol uses is recounted lazily.
void CallGraphSummary::recount(FunctionSummary &F) {
  const auto Mentions = [](const auto &Reference) { return Reference.second; };
  const bool Uses = !F.Stale && llvm::any_of(F.Contents.References, Mentions);
  if (Uses)
    use(F, F.Contents, -1);
  F.Stale = true;
  F.Grown = F.Inexact = false;
  if (Uses)
    use(F, contents(F), 1);
}

void CallGraphSummary::inlined(Operation *Call, FunctionSummary &Callee,
                               FunctionSummary &Caller, bool Moved) {
  const Contents &Body = contents(Callee);
  Contents &Around = Caller.Contents;
  for (auto &[Symbol, Count] : Body.References)
    Around.References[Symbol] += Count;
  if (Callee.Function->hasAttr(SymbolTable::getSymbolAttrName()))
    --Around.References[SymbolTable::getSymbolName(Callee.Function)];
  Around.Fits.reset();
  // A single block goes into the call's block, and call and return disappear.
  // Several blocks split that block, and their returns become branches.
  const bool Straight = llvm::hasSingleElement(Callee.Function->getRegion(0));
  Caller.Operations += Callee.Operations - (Straight ? 2 : 1);
  Caller.Blocks += Callee.Blocks - (Straight ? 1 : 0);
  Caller.Calls += Callee.Calls - 1;
  Caller.Grown = true;
  Caller.Inexact |= Call->getName().getStringRef() != "func.call";
  --Callee.Uses;
  if (Moved)
    erase(Callee);
  else
    use(Caller, Body, 1);
}

void CallGraphSummary::erase(FunctionSummary &F) {
  F.Erased = true;
  --Functions[F.Table];
}

/// Notes what the inliner has erased in the components before \p Component:
/// functions that were unused when it reached them.
void CallGraphSummary::visitUntil(size_t Component) {
  for (; Visited < All.size() && All[Visited].Component < Component; ++Visited)
    if (FunctionSummary &F = All[Visited];
        F.Discardable && !F.Uses && !F.Erased)
      erase(F);
}

} // namespace passpilot
