// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "core.h"
#include "ir.h"
#include "native_feature.h"

#include "../llvm/ir2vec.h"
#include "llvm/Analysis/LoopInfo.h"

namespace passpilot {

using Rows =
    nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

static void make(IR2VecVocabulary *Self, const Rows &R) {
  if (R.shape(0) != ir2vecEntities().size())
    throw nb::value_error("IR2Vec vocabulary: expected a row for each entity");
  new (Self) IR2VecVocabulary(R.data(), R.shape(1));
}

static std::vector<double> embedFunction(const IR2VecVocabulary &V,
                                         const FunctionRef &R, bool FlowAware) {
  const llvm::Function &F = of(R);
  if (F.isDeclaration())
    throw InputError("IR2Vec embedding of function " + F.getName().str() +
                     ": expected a body, got a declaration; see "
                     "is_declaration");
  return V.embed(F, FlowAware);
}

void bindIR2Vec(nb::module_ &M) {
  nb::class_<IR2VecVocabulary>(M, "IR2VecVocabulary")
      .def("__init__", &make, nb::arg("rows"))
      .def("embed", &embedFunction, nb::arg("function"), nb::arg("flow_aware"))
      .def(
          "embed_loop",
          [](const IR2VecVocabulary &V, const LoopRef &R, bool FlowAware) {
            return V.embed(R.loop().getBlocks(), FlowAware);
          },
          nb::arg("loop"), nb::arg("flow_aware"))
      .def(
          "embed_module",
          [](const IR2VecVocabulary &V, HostedModule &H, bool FlowAware) {
            return V.embed(readable(H).module(), FlowAware);
          },
          nb::arg("module"), nb::arg("flow_aware"));
  M.def(
      "ir2vec_features",
      [](const IR2VecVocabulary &V, bool FlowAware) {
        return featuresOf(ir2vecFeatures(V, FlowAware), 2);
      },
      nb::arg("vocabulary"), nb::arg("flow_aware"),
      "The vectors of a call site's caller and callee.");
  M.def("ir2vec_entities", &ir2vecEntities,
        "The entities that a vocabulary has vectors for, in LLVM's order: "
        "pairs of section and key.");
}

} // namespace passpilot
