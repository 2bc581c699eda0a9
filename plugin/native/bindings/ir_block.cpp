// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "core.h"
#include "ir.h"

#include "llvm/IR/CFG.h"

namespace passpilot {

/// Drops duplicates: several edges of a switch may lead to one block.
template <typename Range>
static nb::list distinct(const Owner &O, Range &&Blocks) {
  llvm::SmallPtrSet<llvm::BasicBlock *, 8> Seen;
  nb::list L;
  for (llvm::BasicBlock *B : Blocks)
    if (Seen.insert(B).second)
      L.append(valueOf(O, B));
  return L;
}

void bindBlock(nb::module_ &M) {
  nb::class_<BlockRef, ValueRef> C(
      M, "BasicBlock",
      "A basic block: instructions that run one after the other.");
  bindBlockAnalyses(C);
  bindBlockMutations(C);
  C.def_prop_ro(
       "instructions", [](BlockRef &R) { return handlesOf(R.O, of(R)); },
       nb::sig("def instructions(self) -> list[Instruction]"),
       "The instructions, in order.")
      .def_prop_ro(
          "terminator",
          [](BlockRef &R) { return valueOf(R.O, of(R).getTerminator()); },
          nb::sig("def terminator(self) -> Instruction"),
          "The last instruction; None in a block that is not finished.")
      .def_prop_ro(
          "predecessors",
          [](BlockRef &R) { return distinct(R.O, llvm::predecessors(&of(R))); },
          nb::sig("def predecessors(self) -> list[BasicBlock]"),
          "The blocks without duplicates, however many edges there are.")
      .def_prop_ro(
          "successors",
          [](BlockRef &R) { return distinct(R.O, llvm::successors(&of(R))); },
          nb::sig("def successors(self) -> list[BasicBlock]"),
          "The blocks without duplicates, however many edges there are.")
      .def_prop_ro(
          "function",
          [](BlockRef &R) { return valueOf(R.O, of(R).getParent()); },
          nb::sig("def function(self) -> Function"),
          "The function that the block belongs to.")
      .def_prop_ro(
          "is_entry", [](BlockRef &R) { return of(R).isEntryBlock(); },
          "Whether the function begins with this block.");
}

} // namespace passpilot
