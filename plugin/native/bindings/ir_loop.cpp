// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "core.h"
#include "define.h"

#include "../hosted/analyses.h"
#include "../hosted/distribution.h"
#include "../hosted/vectorization.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"

namespace passpilot {

using llvm::Loop;

static llvm::BasicBlock &headerOf(const LoopRef &R) {
  return of(nb::cast<const BlockRef &>(R.Header));
}

llvm::Loop &LoopRef::loop() const {
  llvm::BasicBlock &B = headerOf(*this);
  llvm::Loop *L = loopsOf(*O.H, *B.getParent()).getLoopFor(&B);
  if (L && L->getHeader() == &B)
    return *L;
  raiseError("StaleViewError",
             "loop of function " + B.getParent()->getName().str() +
                 ": expected one that is still there, got a block that "
                 "heads no loop any more; look it up again");
}

nb::object loopOf(const Owner &O, llvm::Loop &L) {
  return nb::cast(LoopRef{O, valueOf(O, L.getHeader())});
}

/// The blocks that the Loop function \p Collect collects.
template <auto Collect> static auto blocksOf(const Loop &L) {
  llvm::SmallVector<llvm::BasicBlock *, 8> Blocks;
  (L.*Collect)(Blocks);
  return Blocks;
}

static llvm::ScalarEvolution &evolution(const LoopRef &R) {
  return evolutionOf(*R.O.H, *headerOf(R).getParent());
}

/// Converts 0, LLVM's word for unknown, to None.
static std::optional<unsigned> known(unsigned Count) {
  return Count ? std::optional(Count) : std::nullopt;
}

static std::optional<nb::str> backedgeTakenCountOf(const LoopRef &R) {
  const llvm::SCEV *S = evolution(R).getBackedgeTakenCount(&R.loop());
  if (llvm::isa<llvm::SCEVCouldNotCompute>(S))
    return std::nullopt;
  std::string Text;
  llvm::raw_string_ostream OS(Text);
  S->print(OS);
  return text(Text);
}

/// What an analysis knows of a loop, None for nothing.
template <typename T, const T *(*Of)(HostedModule &, const Loop &)>
static std::optional<T> knownOf(const LoopRef &R) {
  const T *Found = Of(*R.O.H, R.loop());
  return Found ? std::optional(*Found) : std::nullopt;
}

static void setMetadataOf(HostedModule &H, Loop &L, llvm::MDNode *Node) {
  for (llvm::BasicBlock *B : blocksOf<&Loop::getLoopLatches>(L))
    setMetadata(H, *B->getTerminator(), "llvm.loop", Node);
}

static void bindShape(nb::class_<LoopRef> &C) {
  Properties P(C);
  P("blocks", "The blocks, including those of inner loops; the header first.",
    [](Loop &L) { return L.getBlocks(); });
  P("latches", "The blocks that branch back to the header.",
    [](Loop &L) { return blocksOf<&Loop::getLoopLatches>(L); });
  P("exiting_blocks", "The blocks inside that may leave the loop.",
    [](Loop &L) { return blocksOf<&Loop::getExitingBlocks>(L); });
  P("exit_blocks", "The blocks outside that it branches to.",
    [](Loop &L) { return blocksOf<&Loop::getUniqueExitBlocks>(L); });
  P.optional("preheader",
             "The only block that enters the loop, if there is one.",
             [](Loop &L) { return L.getLoopPreheader(); });
  P.optional("parent", "The loop around it; None for an outermost loop.",
             [](Loop &L) { return L.getParentLoop(); });
  P("subloops", "The loops directly inside.",
    [](Loop &L) { return L.getSubLoops(); });
  P("depth", "1 for an outermost loop.",
    [](Loop &L) { return L.getLoopDepth(); });
}

static void bindCounts(nb::class_<LoopRef> &C) {
  Properties P(C);
  P("trip_count", "The header's executions per entry, if a known constant.",
    [](LoopRef &R) {
      return known(evolution(R).getSmallConstantTripCount(&R.loop()));
    });
  P("max_trip_count", "The upper bound of trip_count, if known.",
    [](LoopRef &R) {
      return known(evolution(R).getSmallConstantMaxTripCount(&R.loop()));
    });
  P("trip_multiple",
    "A number that divides the trip count; 1 if none is known.",
    [](LoopRef &R) {
      return evolution(R).getSmallConstantTripMultiple(&R.loop());
    });
  P("backedge_taken_count",
    "LLVM's expression for trip count - 1, if it has one.",
    &backedgeTakenCountOf);
}

void bindLoop(nb::module_ &M) {
  nb::class_<LoopRef> C(M, "Loop", "A natural loop.");
  Properties P(C);
  P("header", "The block through which the loop is entered.",
    [](LoopRef &R) { return &headerOf(R); });
  P("function", "The function that the loop is in.",
    [](LoopRef &R) { return headerOf(R).getParent(); });
  bindShape(C);
  method(C, "set_metadata",
         "(..., (\"llvm.loop.unroll.count\", 4)); None removes it.",
         &setMetadataOf, nb::arg("value").none(),
         nb::sig("def set_metadata(self, value: Sequence[object] | None) -> "
                 "None"));
  bindCounts(C);
  P("vectorization",
    "What LLVM's vectorizer knows of an innermost loop; None if it cannot "
    "vectorize it.",
    &knownOf<VectorizableLoop, vectorizationOf>);
  P("distribution",
    "What LLVM would make of an innermost loop by distributing it; None if it "
    "cannot.",
    &knownOf<DistributableLoop, distributionOf>);
  P(
      "metadata", "The llvm.loop node: itself as `...`, then its properties.",
      [](LoopRef &R) { return metadataOf(R.O, R.loop().getLoopID()); },
      nb::sig("def metadata(self) -> tuple[object, ...] | None"));
  C.def("__repr__", [](LoopRef &R) {
    return text("<Loop at " + nb::cast<std::string>(nb::repr(R.Header)) + ">");
  });
  defineIdentity(C, [](const LoopRef &R) {
    return nb::cast<const BlockRef &>(R.Header).Key;
  });
}

} // namespace passpilot
