// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "core.h"
#include "ir.h"

#include "../hosted/analyses.h"
#include "../hosted/distribution.h"
#include "../hosted/vectorization.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"

namespace passpilot {

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

static nb::object loopOrNone(const Owner &O, llvm::Loop *L) {
  return L ? loopOf(O, *L) : nb::none();
}

static nb::list loopsIn(const Owner &O, llvm::ArrayRef<llvm::Loop *> Loops) {
  nb::list L;
  for (llvm::Loop *Each : Loops)
    L.append(loopOf(O, *Each));
  return L;
}

nb::list loopsOfFunction(const FunctionRef &R) {
  return loopsIn(R.O, loopsOf(*R.O.H, of(R)).getLoopsInPreorder());
}

nb::object loopOfBlock(const BlockRef &R) {
  llvm::BasicBlock &B = of(R);
  return loopOrNone(R.O, loopsOf(*R.O.H, *B.getParent()).getLoopFor(&B));
}

/// The blocks that the Loop function \p Collect collects.
template <auto Collect> static nb::list blocksOf(const LoopRef &R) {
  llvm::SmallVector<llvm::BasicBlock *, 8> Blocks;
  (R.loop().*Collect)(Blocks);
  nb::list L;
  for (llvm::BasicBlock *B : Blocks)
    L.append(valueOf(R.O, B));
  return L;
}

static llvm::ScalarEvolution &evolution(const LoopRef &R) {
  return evolutionOf(*R.O.H, *headerOf(R).getParent());
}

/// Converts 0, LLVM's word for unknown, to None.
static std::optional<unsigned> known(unsigned Count) {
  return Count ? std::optional(Count) : std::nullopt;
}

static nb::object backedgeTakenCountOf(const LoopRef &R) {
  const llvm::SCEV *S = evolution(R).getBackedgeTakenCount(&R.loop());
  if (llvm::isa<llvm::SCEVCouldNotCompute>(S))
    return nb::none();
  std::string Text;
  llvm::raw_string_ostream OS(Text);
  S->print(OS);
  return text(Text);
}

/// What an analysis knows of a loop, None for nothing.
template <typename T, const T *(*Of)(HostedModule &, const llvm::Loop &)>
static std::optional<T> knownOf(const LoopRef &R) {
  const T *Found = Of(*R.O.H, R.loop());
  return Found ? std::optional(*Found) : std::nullopt;
}

static bool equals(const LoopRef &A, nb::handle Other) {
  const LoopRef *B = nullptr;
  return nb::try_cast<const LoopRef *>(Other, B, false) && B &&
         B->Header.equal(A.Header);
}

static void bindShape(nb::class_<LoopRef> &C) {
  C.def_prop_ro(
       "blocks",
       [](LoopRef &R) {
         nb::list L;
         for (llvm::BasicBlock *B : R.loop().blocks())
           L.append(valueOf(R.O, B));
         return L;
       },
       nb::sig("def blocks(self) -> list[BasicBlock]"),
       "The blocks, including those of inner loops; the header first.")
      .def_prop_ro("latches", &blocksOf<&llvm::Loop::getLoopLatches>,
                   nb::sig("def latches(self) -> list[BasicBlock]"),
                   "The blocks that branch back to the header.")
      .def_prop_ro("exiting_blocks", &blocksOf<&llvm::Loop::getExitingBlocks>,
                   nb::sig("def exiting_blocks(self) -> list[BasicBlock]"),
                   "The blocks inside that may leave the loop.")
      .def_prop_ro("exit_blocks", &blocksOf<&llvm::Loop::getUniqueExitBlocks>,
                   nb::sig("def exit_blocks(self) -> list[BasicBlock]"),
                   "The blocks outside that it branches to.")
      .def_prop_ro(
          "preheader",
          [](LoopRef &R) { return valueOf(R.O, R.loop().getLoopPreheader()); },
          nb::sig("def preheader(self) -> BasicBlock | None"),
          "The only block that enters the loop, if there is one.")
      .def_prop_ro(
          "parent",
          [](LoopRef &R) { return loopOrNone(R.O, R.loop().getParentLoop()); },
          nb::sig("def parent(self) -> Loop | None"),
          "The loop around it; None for an outermost loop.")
      .def_prop_ro(
          "subloops",
          [](LoopRef &R) { return loopsIn(R.O, R.loop().getSubLoops()); },
          nb::sig("def subloops(self) -> list[Loop]"),
          "The loops directly inside.")
      .def_prop_ro(
          "depth", [](LoopRef &R) { return R.loop().getLoopDepth(); },
          "1 for an outermost loop.");
}

static void bindIdentity(nb::class_<LoopRef> &C) {
  C.def("__repr__",
        [](LoopRef &R) {
          return text("<Loop at " + nb::cast<std::string>(nb::repr(R.Header)) +
                      ">");
        })
      .def("__eq__", &equals, nb::arg("other").none(),
           nb::sig("def __eq__(self, other: object) -> bool"))
      .def("__hash__", [](LoopRef &R) { return nb::hash(R.Header); });
}

void bindLoop(nb::module_ &M) {
  nb::class_<LoopRef> C(M, "Loop", "A natural loop.");
  C.def_prop_ro(
       "header",
       [](LoopRef &R) {
         headerOf(R);
         return R.Header;
       },
       nb::sig("def header(self) -> BasicBlock"),
       "The block through which the loop is entered.")
      .def_prop_ro(
          "function",
          [](LoopRef &R) { return valueOf(R.O, headerOf(R).getParent()); },
          nb::sig("def function(self) -> Function"),
          "The function that the loop is in.");
  bindShape(C);
  bindLoopMutations(C);
  C.def_prop_ro(
       "trip_count",
       [](LoopRef &R) {
         return known(evolution(R).getSmallConstantTripCount(&R.loop()));
       },
       "The header's executions per entry, if a known constant.")
      .def_prop_ro(
          "max_trip_count",
          [](LoopRef &R) {
            return known(evolution(R).getSmallConstantMaxTripCount(&R.loop()));
          },
          "The upper bound of trip_count, if known.")
      .def_prop_ro(
          "trip_multiple",
          [](LoopRef &R) {
            return evolution(R).getSmallConstantTripMultiple(&R.loop());
          },
          "A number that divides the trip count; 1 if none is known.")
      .def_prop_ro("backedge_taken_count", &backedgeTakenCountOf,
                   nb::sig("def backedge_taken_count(self) -> str | None"),
                   "LLVM's expression for trip count - 1, if it has one.")
      .def_prop_ro(
          "vectorization", &knownOf<VectorizableLoop, vectorizationOf>,
          nb::sig("def vectorization(self) -> Vectorization | None"),
          "What LLVM's vectorizer knows of an innermost loop; None if it "
          "cannot vectorize it.")
      .def_prop_ro("distribution", &knownOf<DistributableLoop, distributionOf>,
                   nb::sig("def distribution(self) -> Distribution | None"),
                   "What LLVM would make of an innermost loop by distributing "
                   "it; None if it cannot.")
      .def_prop_ro(
          "metadata",
          [](LoopRef &R) { return metadataOf(R.O, R.loop().getLoopID()); },
          nb::sig("def metadata(self) -> tuple[object, ...] | None"),
          "The llvm.loop node: itself as `...`, then its properties.");
  bindIdentity(C);
}

} // namespace passpilot
