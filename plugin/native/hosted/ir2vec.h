// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM's IR2Vec embeddings, with the vocabulary as an object instead of a
// process-wide option.

#pragma once

#include "llvm/Analysis/IR2Vec.h"

#include <string>
#include <utility>
#include <vector>

namespace passpilot {

/// LLVM's entities in its order: pairs of section and key in the file.
std::vector<std::pair<std::string, std::string>> ir2vecEntities();

/// Threads: immutable, may be shared.
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
  llvm::ir2vec::Vocabulary Vocabulary;
};

} // namespace passpilot
