// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "core.h"
#include "define.h"

#include "../hosted/analyses.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/Dominators.h"

namespace passpilot {

using llvm::BasicBlock;

/// Drops duplicates: several edges of a switch may lead to one block.
template <typename Range> static auto distinct(Range &&Blocks) {
  return llvm::SmallSetVector<BasicBlock *, 8>(Blocks.begin(), Blocks.end())
      .takeVector();
}

static bool dominates(const BlockRef &A, const BlockRef &B) {
  BasicBlock &I = of(A), &J = of(B);
  if (I.getParent() != J.getParent())
    refuseOperand("dominates", "two blocks of one function",
                  printedOperand(J) + " of " + J.getParent()->getName().str());
  return dominatorsOf(*A.O.H, *I.getParent()).dominates(&I, &J);
}

static BasicBlock *immediateDominatorOf(const BlockRef &R) {
  BasicBlock &B = of(R);
  auto *Node = dominatorsOf(*R.O.H, *B.getParent()).getNode(&B);
  auto *Parent = Node ? Node->getIDom() : nullptr;
  return Parent ? Parent->getBlock() : nullptr;
}

static double probability(const BlockRef &From, const BlockRef &To) {
  BasicBlock &B = of(From);
  if (!llvm::is_contained(llvm::successors(&B), &of(To)))
    refuseOperand("probability_to", "a successor of the block",
                  printedOperand(of(To)));
  return probabilityOf(*From.O.H, B, of(To));
}

static llvm::LoopInfo &loopsAround(const BlockRef &R) {
  return loopsOf(*R.O.H, *of(R).getParent());
}

static void bindAnalyses(nb::class_<BlockRef, ValueRef> &C) {
  Properties P(C);
  P.optional("loop", "The innermost loop that contains it.",
             [](BlockRef &R) { return loopsAround(R).getLoopFor(&of(R)); });
  P("loop_depth", "How many loops the block is in.",
    [](BlockRef &R) { return loopsAround(R).getLoopDepth(&of(R)); });
  C.def("dominates", &dominates, nb::arg("other"),
        "Whether it dominates another; every block dominates itself and all "
        "unreachable blocks.");
  P.optional(
      "immediate_dominator",
      "The immediate dominator; None for the entry and unreachable blocks.",
      &immediateDominatorOf);
  P("frequency",
    "Executions per execution of the entry block, as LLVM estimates.",
    [](BlockRef &R) { return frequencyOf(*R.O.H, of(R)); });
  C.def("probability_to", &probability, nb::arg("successor"),
        "The probability that the block goes on to a successor, 0 to 1.");
}

static void bindMutations(nb::class_<BlockRef, ValueRef> &C) {
  method(
      C, "erase", "Erases the block, which must have no predecessors.",
      +[](HostedModule &H, BasicBlock &B) { erase(H, B); });
  method(C, "set_branch", "Replaces the terminator by a branch.", &setBranch,
         nb::arg("to"));
  method(C, "set_conditional_branch",
         "Replaces the terminator by a conditional branch.",
         &setConditionalBranch, nb::arg("condition"), nb::arg("if_true"),
         nb::arg("if_false"));
  method(C, "set_return",
         "Replaces the terminator by a return; None returns void.", &setReturn,
         nb::arg("value") = nb::none());
  method(C, "set_unreachable", "Replaces the terminator by \"unreachable\".",
         &setUnreachable);
}

void bindBlock(nb::module_ &M) {
  nb::class_<BlockRef, ValueRef> C(
      M, "BasicBlock",
      "A basic block: instructions that run one after the other.");
  bindAnalyses(C);
  bindMutations(C);
  Properties P(C);
  P("instructions", "The instructions, in order.",
    [](BasicBlock &B) { return llvm::make_pointer_range(B); });
  P("terminator", "The last instruction; None in a block that is not finished.",
    [](BasicBlock &B) { return B.getTerminator(); });
  P("predecessors",
    "The blocks without duplicates, however many edges there are.",
    [](BasicBlock &B) { return distinct(predecessors(&B)); });
  P("successors",
    "The blocks without duplicates, however many edges there are.",
    [](BasicBlock &B) { return distinct(successors(&B)); });
  P("function", "The function that the block belongs to.",
    [](BasicBlock &B) { return B.getParent(); });
  P("is_entry", "Whether the function begins with this block.",
    [](BasicBlock &B) { return B.isEntryBlock(); });
}

} // namespace passpilot
