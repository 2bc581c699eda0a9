// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM's own IR2Vec embeddings, of a vocabulary that is an object rather than
// an option of the process.

#ifndef PASSPILOT_HOSTED_IR2VEC_H
#define PASSPILOT_HOSTED_IR2VEC_H

#include "llvm/Analysis/IR2Vec.h"

#include <string>
#include <utility>
#include <vector>

namespace passpilot {

/// The entities that LLVM knows, in its order: section of the file, key.
std::vector<std::pair<std::string, std::string>> ir2vecEntities();

/// Threads: immutable, may be shared.
class IR2VecVocabulary {
public:
  /// \p Rows has \p Dimension numbers for each of ir2vecEntities(). LLVM's
  /// weights of the sections are those that its options say now.
  IR2VecVocabulary(const double *Rows, size_t Dimension);

  /// The vector of a function with a body.
  std::vector<double> embed(const llvm::Function &F, bool FlowAware) const;
  /// The sum of those of all functions with bodies.
  std::vector<double> embed(const llvm::Module &M, bool FlowAware) const;

private:
  llvm::ir2vec::Vocabulary Vocabulary;
};

} // namespace passpilot

#endif
