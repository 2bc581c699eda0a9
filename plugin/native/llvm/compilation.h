// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the advisors of a module's compilation.
// LLVM's factory of inline advisors is a plain function of the
// module, so the compilation is looked up by module, per thread.
// A policy may compile another module on the same thread
// meanwhile.

#ifndef PASSPILOT_LLVM_COMPILATION_H
#define PASSPILOT_LLVM_COMPILATION_H

#include "llvm/Analysis/InlineAdvisor.h"
#include "llvm/IR/PassManager.h"

namespace passpilot {

class Session;

/// Makes \p Inline the inline advisor of \p M's compilation on this thread
/// while the object lives.
class Compilation {
public:
  Compilation(llvm::Module &M, llvm::ModuleAnalysisManager &MAM,
              Session &Inline);
  ~Compilation();
  Compilation(const Compilation &) = delete;

  /// LLVM's factory of inline advisors; null if the module has no
  /// Compilation.
  static llvm::InlineAdvisor *advisor(llvm::Module &M,
                                      llvm::FunctionAnalysisManager &FAM,
                                      llvm::InlineParams Params,
                                      llvm::InlineContext Context);

private:
  llvm::Module &M;
};

} // namespace passpilot

#endif
