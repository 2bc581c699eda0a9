// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "native_feature.h"

#include "../hosted/errors.h"
#include "../llvm/graph_features.h"
#include "../llvm/mir2vec.h"
#include "core.h"

namespace passpilot {

namespace {

using Sections = std::vector<std::map<std::string, std::vector<double>>>;

std::vector<NativeFeature> makeMIR2Vec(const Sections &Read) {
#if PASSPILOT_LLVM_MAJOR >= 22
  std::array<MIR2VecVocabulary::Section, MIR2VecSections.size()> All;
  if (Read.size() != All.size())
    throw nb::value_error("MIR2Vec vocabulary: expected all sections");
  for (size_t I = 0; I < All.size(); ++I)
    for (const auto &[Key, Vector] : Read[I])
      All[I].emplace(Key, Vector);
  return featuresOf(
      mir2vecFeatures(std::make_shared<MIR2VecVocabulary>(std::move(All))), 3);
#else
  (void)Read;
  throw InputError("mir2vec_features: expected LLVM 22 or newer, got "
                   "LLVM " PASSPILOT_LLVM_MAJOR_TEXT ", which has no MIR2Vec");
#endif
}

std::vector<NativeFeature> makeGraph(size_t Nodes, size_t Edges, size_t Columns,
                                     unsigned Hops) {
  return featuresOf(graphFeatures({Nodes, Edges, Columns, Hops}), 5);
}

std::vector<std::string> nodeColumns() {
#define PASSPILOT_TEXT(Name, Text) #Text,
  return {PASSPILOT_NODE_COLUMNS(PASSPILOT_TEXT)};
#undef PASSPILOT_TEXT
}

} // namespace

std::vector<NativeFeature>
featuresOf(const std::shared_ptr<const FeatureSet> &Set, size_t Count) {
  std::vector<NativeFeature> All;
  All.reserve(Count);
  for (size_t I = 0; I < Count; ++I)
    All.push_back({Set, I});
  return All;
}

void bindNativeFeature(nb::module_ &M) {
  [[maybe_unused]] const nb::class_<NativeFeature> Bound(
      M, "NativeFeature", "A feature that the core computes.");
  M.def("graph_features", &makeGraph, nb::arg("nodes"), nb::arg("edges"),
        nb::arg("columns"), nb::arg("hops"),
        "The graph around a question of the register allocator: nodes, edges, "
        "counts, what was left out, columns.");
  M.def("graph_node_columns", &nodeColumns,
        "What the tensor of nodes says about a live range, in order.");
  M.def("mir2vec_features", &makeMIR2Vec, nb::arg("sections"),
        "The vectors of the function, the candidate and the columns, by the "
        "sections of a vocabulary's file.");
  M.def(
      "mir2vec_sections",
      [] {
        return std::vector<std::string>(MIR2VecSections.begin(),
                                        MIR2VecSections.end());
      },
      "The names of these sections, in order.");
}

} // namespace passpilot
