// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "after_user_pass.h"

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Transforms/Utils/LoopUtils.h"

using namespace llvm;

namespace passpilot {

namespace {

/// The verifier's complaints about \p F, empty if there are none.
std::string complaints(const Function &F) {
  std::string Text;
  raw_string_ostream OS(Text);
  if (!verifyFunction(F, &OS))
    return "";
  return "expected valid IR after it, got in function " + F.getName().str() +
         ": " + StringRef(Text).trim().str();
}

std::string complaints(const Module &M) {
  std::string Text;
  raw_string_ostream OS(Text);
  if (!verifyModule(M, &OS))
    return "";
  for (const Function &F : M)
    if (std::string Found = complaints(F); !Found.empty())
      return Found;
  return "expected valid IR after it, got: " + StringRef(Text).trim().str();
}

std::string verified(const PassUnit &Unit) {
  if (Unit.Level == PassLevel::Module)
    return complaints(*Unit.Module);
  for (const Function *F : functionsOf(Unit))
    if (std::string Found = complaints(*F); !Found.empty())
      return Found;
  return "";
}

/// Whether a bottom-up walk of \p CG can accept that \p From now mentions \p G.
/// It cannot if the walk visits \p G later, or if \p G is dead already.
bool inOrder(LazyCallGraph &CG, LazyCallGraph::Node &From, Function &G) {
  LazyCallGraph::Node *To = CG.lookup(G);
  if (To && From->lookup(*To))
    return true;
  auto *FromRC = CG.lookupRefSCC(From);
  auto *ToRC = To ? CG.lookupRefSCC(*To) : nullptr;
  return FromRC && ToRC && (FromRC == ToRC || FromRC->isAncestorOf(*ToRC));
}

/// The operands by which \p F mentions an out-of-order function that the module
/// defines, with the first such function of each operand.
SmallVector<std::pair<Use *, Function *>, 0> outOfOrder(LazyCallGraph &CG,
                                                        Function &F) {
  SmallVector<std::pair<Use *, Function *>, 0> Found;
  LazyCallGraph::Node *From = CG.lookup(F);
  if (!From || !From->isPopulated())
    return Found;
  for (Instruction &I : instructions(F))
    for (Use &U : I.operands()) {
      auto *C = dyn_cast<Constant>(U);
      if (!C || isa<ConstantData>(C))
        continue;
      SmallVector<Constant *, 4> Worklist = {C};
      SmallPtrSet<Constant *, 4> Visited = {C};
      Function *First = nullptr;
      LazyCallGraph::visitReferences(Worklist, Visited, [&](Function &G) {
        if (!First && !inOrder(CG, *From, G))
          First = &G;
      });
      if (First)
        Found.push_back({&U, First});
    }
  return Found;
}

/// Updates the walked call graph for the functions of an SCC pass; for function
/// passes LLVM does it.
void updateCallGraph(const PassUnit &Unit) {
  SmallVector<LazyCallGraph::Node *, 4> Nodes;
  for (LazyCallGraph::Node &N : *Unit.SCC)
    Nodes.push_back(&N);
  for (LazyCallGraph::Node *N : Nodes) // the update may split the SCC
    updateCGAndAnalysisManagerForCGSCCPass(
        *Unit.Walked, *Unit.Walked->lookupSCC(*N), *N, *Unit.Managers.CGSCC,
        *Unit.CGSCCUpdate, *Unit.Managers.Function);
}

/// Restores the form that LLVM's loop passes expect of the loop nest.
void restoreLoops(const PassUnit &Unit) {
  LoopStandardAnalysisResults &R = *Unit.LoopResults;
  R.SE.forgetAllLoops();
  Loop *Outermost = Unit.Loop->getOutermostLoop();
  if (!Outermost->isRecursivelyLCSSAForm(R.DT, R.LI))
    formLCSSARecursively(*Outermost, R.DT, &R.LI, &R.SE);
}

} // namespace

SmallVector<Function *, 4> functionsOf(const PassUnit &Unit) {
  SmallVector<Function *, 4> Functions;
  if (Unit.Function)
    Functions.push_back(Unit.Function);
  else if (Unit.SCC)
    for (LazyCallGraph::Node &N : *Unit.SCC)
      Functions.push_back(&N.getFunction());
  return Functions;
}

std::string complaints(const PassUnit &Unit, const Function *F) {
  return F ? complaints(*F) : verified(Unit);
}

std::optional<std::string> acceptChange(const PassUnit &Unit, bool Verify,
                                        bool &BrokenIR) {
  if (Verify) {
    if (std::string Found = verified(Unit); !Found.empty()) {
      BrokenIR = true;
      return Found;
    }
  }
  if (Unit.Walked)
    for (Function *F : functionsOf(Unit))
      if (const auto Found = outOfOrder(*Unit.Walked, *F); !Found.empty())
        return "expected no new mention of a function outside those that " +
               F->getName().str() +
               " reaches while LLVM walks the call graph, got one of " +
               Found.front().second->getName().str() +
               "; run the pass outside cgscc(...), as at pipeline-start";
  if (Unit.Loop && Unit.LoopResults->MSSA)
    return "expected no change inside loop-mssa(...), where LLVM keeps track "
           "of memory, got one; run the pass in loop(...)";
  if (Unit.SCC)
    updateCallGraph(Unit);
  if (Unit.Loop)
    restoreLoops(Unit);
  return std::nullopt;
}

bool abandonChange(const PassUnit &Unit) {
  bool Lost = false;
  if (Unit.Walked)
    for (Function *F : functionsOf(Unit))
      for (auto [U, G] : outOfOrder(*Unit.Walked, *F)) {
        U->set(PoisonValue::get((*U)->getType()));
        Lost = true;
      }
  return Lost;
}

} // namespace passpilot
