// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tool that has loaded us, and how to report errors to it.

#pragma once

#include "../loaded/firewall.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/Passes/PassBuilder.h"

namespace passpilot {

/// Refuses a tool that uses another LLVM than ours: it would ignore what we
/// register. \p Strict: also refuses one without a libLLVM.so.
void checkTool(bool Strict);

/// Whether the tool is lld, which compiles several modules at a time.
bool isLinker();
/// The option with which lld takes modules from a cache, whose keys do not
/// depend on our options, or has them compiled elsewhere; empty without one.
llvm::StringRef unadvisedLink();
/// The words of the tool's command, those of response files among them.
std::vector<std::string> commandWords();
/// Whether clang is the back end of a distributed ThinLTO, whose optimizer
/// loads no plugin.
bool isDistributed();
/// Whether the tool is clang, which may leave code generation to a linker.
bool isClang();
/// Whether the process is clang, opt, llc or lld.
bool isLLVMTool();
/// Whether the tool generates code itself: clang, llc or lld.
bool generatesCode();

/// The flag that makes llc use its new pass manager, if given; empty for
/// other tools.
std::string newPassManagerFlag();
/// Calls \p Call when llc has parsed such a flag.
void onNewPassManager(void (*Call)());

/// Reports messages as the tool does its own. An error ends the compilation
/// with exit code 1 and no output, at once or when the tool notices it. \p Of:
/// the module that is being compiled, which may be gone.
void tell(llvm::LLVMContext &C, const llvm::Module *Of, const Messages &Report);

/// Calls \p Body and reports its messages. LLVM waits for it, so an exception
/// becomes an error of the compilation, too. Returns whether there was none.
bool contained(llvm::LLVMContext &C, const llvm::Module *Of,
               llvm::function_ref<void(Messages &Report)> Body) noexcept;
bool contained(llvm::Module &M,
               llvm::function_ref<void(Messages &Report)> Body) noexcept;

/// Whether tell() has reported an error of this compilation of \p M.
bool hasFailed(const llvm::Module &M);
/// Call this when a compilation of \p M begins and when its code generation
/// ends: the module, or another at its address, may be compiled again.
void forgetFailure(const llvm::Module &M);

/// The module of \p IR, which pass instrumentation passes as an Any.
const llvm::Module *moduleOf(const llvm::Any &IR);

/// Reports an error before a compilation: ends the tool or, in a linker with
/// several compilations, each of them.
void refusePipeline(llvm::PassBuilder &PB, const std::string &Text);

} // namespace passpilot
