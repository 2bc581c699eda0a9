// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What LLVM's passes know of loops, as they find it out on copies.

#include "core.h"
#include "ir.h"

#include "../hosted/distribution.h"
#include "../hosted/vectorization.h"

namespace passpilot {

using Known = VectorizableLoop;

static void bindAccesses(nb::class_<Known> &C) {
  C.def_ro("consecutive", &Known::Consecutive,
           "Loads and stores whose address goes up by their size.")
      .def_ro("reversed", &Known::Reversed,
              "Loads and stores whose address goes down by their size.")
      .def_ro("strided", &Known::Strided,
              "Loads and stores whose address changes by another constant.")
      .def_ro("invariant", &Known::Invariant,
              "Loads and stores whose address does not change.")
      .def_ro("irregular", &Known::Irregular,
              "Loads and stores whose address changes in another way.")
      .def_ro("bytes", &Known::Bytes,
              "How far all addresses together move per iteration, in bytes; "
              "irregular ones count with their size.");
}

static void bindVectorization(nb::module_ &M) {
  nb::class_<Known> C(M, "Vectorization",
                      "What LLVM's vectorizer knows of a loop.");
  C.def_ro("width", &Known::Width,
           "The vectorization factor that LLVM would choose; 1 for none.")
      .def_ro("interleave", &Known::Interleave,
              "The interleave count that LLVM would choose; 1 for none.")
      .def_ro("is_exact", &Known::Exact,
              "Whether a width above 1 may change results: floating-point "
              "operations would be done in another order.")
      .def_ro("safe_bits", &Known::SafeBits,
              "The largest vector that dependences between iterations allow, "
              "in bits; None for any.")
      .def_ro("register_bits", &Known::RegisterBits,
              "The size of the target's vector registers; 0 if it has none.")
      .def_ro("narrowest_bits", &Known::NarrowestBits,
              "The narrowest type of loads, stores and reductions, in bits.")
      .def_ro("widest_bits", &Known::WidestBits,
              "The widest type of loads, stores and reductions, in bits.")
      .def_ro("inductions", &Known::Inductions, "Induction variables.")
      .def_ro("reductions", &Known::Reductions,
              "Values such as sums and maxima.")
      .def_ro("recurrences", &Known::Recurrences,
              "Values that an iteration takes from the one before.")
      .def_ro("pointer_checks", &Known::PointerChecks,
              "Pairs of pointers to compare before the loop.")
      .def_ro("assumptions", &Known::Assumptions,
              "Other conditions to check before the loop.")
      .def_ro("masked_blocks", &Known::MaskedBlocks,
              "Blocks that run in some iterations only.")
      .def_ro("early_exit", &Known::EarlyExit,
              "Whether data decide when the loop ends.");
  bindAccesses(C);
}

static void bindDistribution(nb::module_ &M) {
  using Parts = DistributableLoop;
  nb::class_<Parts>(M, "Distribution",
                    "What LLVM would make of a loop by distributing it.")
      .def_ro("dependences", &Parts::Dependences,
              "Dependences between loads and stores.")
      .def_ro("backward", &Parts::Backward,
              "Those that may point backward, which forbid vectorization.")
      .def_ro("parts", &Parts::Parts, "The loops that it becomes.")
      .def_ro("vectorizable", &Parts::Vectorizable,
              "The parts that LLVM can vectorize.")
      .def_ro("vectorized", &Parts::Vectorized,
              "The parts that LLVM would vectorize.")
      .def_ro("before", &Parts::Before, "Instructions of the loop.")
      .def_ro("after", &Parts::After, "Instructions of all parts together.")
      .def_ro("is_checked", &Parts::Checked,
              "Whether the parts run only if a check before them allows it.");
}

void bindLoopKnowledge(nb::module_ &M) {
  bindVectorization(M);
  bindDistribution(M);
}

} // namespace passpilot
