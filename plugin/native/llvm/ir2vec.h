// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM's IR2Vec embeddings, with the vocabulary as an object instead of a
// process-wide option, and as features of the inliner's call sites.

#pragma once

#include "../runtime/feature_set.h"
#include "version.h"
#include "llvm/Analysis/IR2Vec.h"

#include <string>
#include <utility>
#include <vector>

namespace passpilot {

/// LLVM's entities in its order: pairs of section and key in the file.
std::vector<std::pair<std::string, std::string>> ir2vecEntities();

/// Threads: immutable, may be shared. Copies are the same vocabulary.
class IR2VecVocabulary {
public:
  /// \p Rows has \p Dimension numbers for each of ir2vecEntities(). The weights
  /// of the sections come from LLVM's options at this moment.
  IR2VecVocabulary(const double *Rows, size_t Dimension);

  /// The vector of a function, which must have a body.
  std::vector<double> embed(const llvm::Function &F, bool FlowAware) const;
  /// The sum of the vectors of some blocks of one function.
  std::vector<double> embed(llvm::ArrayRef<llvm::BasicBlock *> Blocks,
                            bool FlowAware) const;
  /// The sum of the vectors of all functions with bodies.
  std::vector<double> embed(const llvm::Module &M, bool FlowAware) const;

private:
  std::shared_ptr<const llvm::ir2vec::Vocabulary> Vocabulary;
};

/// The vectors of a call site's caller and callee.
std::unique_ptr<FeatureSet> ir2vecFeatures(const IR2VecVocabulary &Vocabulary,
                                           bool FlowAware);

} // namespace passpilot
