// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir2vec.h"

#include "../runtime/session.h"
#include "call_site.h"
#include "function_facts.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Module.h"

#include <algorithm>

using namespace llvm;

namespace passpilot {

namespace {

using ir2vec::Embedding;
using Entities = ir2vec::Vocabulary;

/// One section of the vocabulary as LLVM stores it; the file lists predicates
/// among the arguments.
struct Section {
  const char *Name;
  unsigned Size;
  float Weight;
};

#if PASSPILOT_LLVM_MAJOR >= 22

std::array<Section, 4> sections() {
  return {{{"Opcodes", Entities::MaxOpcodes, ir2vec::OpcWeight},
           {"Types", Entities::MaxCanonicalTypeIDs, ir2vec::TypeWeight},
           {"Arguments", Entities::MaxOperandKinds, ir2vec::ArgWeight},
           {"Arguments", Entities::MaxPredicateKinds, ir2vec::ArgWeight}}};
}

ir2vec::VocabStorage stored(const double *Rows, size_t Dimension) {
  std::vector<std::vector<Embedding>> Sections;
  for (const Section &S : sections()) {
    std::vector<Embedding> &Filled = Sections.emplace_back();
    for (unsigned I = 0; I < S.Size; ++I, Rows += Dimension) {
      Filled.emplace_back(std::vector<double>(Rows, Rows + Dimension));
      Filled.back() *= S.Weight;
    }
  }
  return ir2vec::VocabStorage(std::move(Sections));
}

IR2VecKind kindOf(bool FlowAware) {
  return FlowAware ? IR2VecKind::FlowAware : IR2VecKind::Symbolic;
}

#else // it knows no predicates

std::array<Section, 3> sections() {
#define LAST_OTHER_INST(Number) constexpr unsigned Opcodes = Number;
#include "llvm/IR/Instruction.def"
#undef LAST_OTHER_INST
  return {{{"Opcodes", Opcodes, ir2vec::OpcWeight},
           {"Types", Type::TypeID::TargetExtTyID + 1, ir2vec::TypeWeight},
           {"Arguments", 4, ir2vec::ArgWeight}}};
}

/// Several types have one key, and so one row.
std::vector<Embedding> stored(const double *Rows, size_t Dimension) {
  const auto Named = ir2vecEntities();
  std::vector<Embedding> All;
  for (const Section &S : sections())
    for (unsigned I = 0; I < S.Size; ++I) {
      const std::pair<std::string, std::string> Name(
          S.Name, Entities::getStringKey(static_cast<unsigned>(All.size())));
      const double *Row =
          Rows + (find(Named, Name) - Named.begin()) * Dimension;
      All.emplace_back(std::vector<double>(Row, Row + Dimension));
      All.back() *= S.Weight;
    }
  return All;
}

IR2VecKind kindOf(bool) { return IR2VecKind::Symbolic; }

#endif

} // namespace

std::vector<std::pair<std::string, std::string>> ir2vecEntities() {
  std::vector<std::pair<std::string, std::string>> All;
  unsigned Number = 0;
  for (const Section &S : sections())
    for (unsigned I = 0; I < S.Size; ++I) {
      std::pair<std::string, std::string> Name(
          S.Name, Entities::getStringKey(Number++).str());
      if (!is_contained(All, Name))
        All.push_back(std::move(Name));
    }
  return All;
}

IR2VecVocabulary::IR2VecVocabulary(const double *Rows, size_t Dimension)
    : Vocabulary(std::make_shared<const Entities>(stored(Rows, Dimension))) {}

std::vector<double> IR2VecVocabulary::embed(const Function &F,
                                            bool FlowAware) const {
  return ir2vec::Embedder::create(kindOf(FlowAware), F, *Vocabulary)
      ->getFunctionVector()
      .getData();
}

std::vector<double> IR2VecVocabulary::embed(ArrayRef<BasicBlock *> Blocks,
                                            bool FlowAware) const {
  const auto Embedder = ir2vec::Embedder::create(
      kindOf(FlowAware), *Blocks.front()->getParent(), *Vocabulary);
  Embedding Sum(Vocabulary->getDimension());
  for (const BasicBlock *B : Blocks)
    Sum += Embedder->getBBVector(*B);
  return Sum.getData();
}

std::vector<double> IR2VecVocabulary::embed(const Module &M,
                                            bool FlowAware) const {
  Embedding Sum(Vocabulary->getDimension());
  for (const Function &F : M)
    if (!F.isDeclaration())
      Sum += Embedding(embed(F, FlowAware));
  return Sum.getData();
}

namespace {

/// LLVM invalidates the facts of a function, and with them its vector, when the
/// function changes.
class IR2VecFiller final : public FeatureFiller {
public:
  IR2VecFiller(const IR2VecVocabulary &Vocabulary, bool FlowAware,
               const void *Maker)
      : Vocabulary(Vocabulary), FlowAware(FlowAware), Maker(Maker) {}

  std::string fill(const Session &S, size_t I, void *Buffer) override {
    auto &Q = static_cast<CallQuestion &>(*S.current());
    Function &F = I == 0 ? *Q.Site.getCaller() : *Q.Site.getCalledFunction();
    std::vector<float> &Vector = Q.facts(F).vectorOf(Maker);
    if (Vector.empty())
      for (double Each : Vocabulary.embed(F, FlowAware))
        Vector.push_back(static_cast<float>(Each));
    std::copy(Vector.begin(), Vector.end(), static_cast<float *>(Buffer));
    return {};
  }

private:
  const IR2VecVocabulary Vocabulary;
  const bool FlowAware;
  const void *const Maker;
};

class IR2VecSet final : public FeatureSet {
public:
  IR2VecSet(const IR2VecVocabulary &Vocabulary, bool FlowAware)
      : Vocabulary(Vocabulary), FlowAware(FlowAware) {}
  std::unique_ptr<FeatureFiller> filler() const override {
    return std::make_unique<IR2VecFiller>(Vocabulary, FlowAware, this);
  }

private:
  const IR2VecVocabulary Vocabulary;
  const bool FlowAware;
};

} // namespace

std::unique_ptr<FeatureSet> ir2vecFeatures(const IR2VecVocabulary &Vocabulary,
                                           bool FlowAware) {
  return std::make_unique<IR2VecSet>(Vocabulary, FlowAware);
}

} // namespace passpilot
