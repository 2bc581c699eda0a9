// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A copy of one function in a context of its own, without debug information.
// LLVM's passes may run on the copy: the module that it comes from, its
// context, remarks and analyses do not notice.

#pragma once

#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

#include <memory>

namespace passpilot {

class FunctionCopy {
public:
  /// Globals that \p F uses become declarations. Blocks and instructions have
  /// the same order as in \p F, which must have a body. Throws IRError for a
  /// function that cannot stand alone: it names blocks of others.
  explicit FunctionCopy(llvm::Function &F);

  llvm::Function &function() { return *Copy; }
  llvm::Module &module() { return *M; }
  llvm::LLVMContext &context() { return *Context; }

private:
  std::unique_ptr<llvm::LLVMContext> Context; // before M: outlives it
  std::unique_ptr<llvm::Module> M;
  llvm::Function *Copy = nullptr;
};

} // namespace passpilot
