// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tool that has loaded us, and how it is told that something is wrong.

#ifndef PASSPILOT_STOCK_HOST_H
#define PASSPILOT_STOCK_HOST_H

#include "../loaded/message.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/Passes/PassBuilder.h"

namespace passpilot {

/// Refuses a tool with another LLVM than ours, which would know nothing of what
/// we do. \p Strict: one without a libLLVM.so, too.
void checkTool(bool Strict);

/// Whether the tool is lld, which compiles several modules at a time.
bool isLinker();

/// Reports messages as the tool reports its own: an error ends the compilation
/// with exit code 1, at once or when the tool comes to it, without an output.
void tell(llvm::LLVMContext &C, const Messages &Told);

/// Reports an error where there is no compilation yet, and ends the tool.
[[noreturn]] void refuse(const std::string &Text);

/// The module that \p IR, as LLVM shows it to pass instrumentation, belongs to.
const llvm::Module *moduleOf(const llvm::Any &IR);

/// Reports an error where there is no compilation yet: ends the tool, or, where
/// that runs several at a time, each of them.
void refusePipeline(llvm::PassBuilder &PB, const std::string &Text);

} // namespace passpilot

#endif
