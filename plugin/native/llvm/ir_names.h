// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The assembly's words for properties of the IR.

#pragma once

#include "llvm/IR/CallingConv.h"
#include "llvm/IR/GlobalValue.h"
#include "llvm/IR/Instruction.h"

#include <optional>
#include <string>
#include <vector>

namespace passpilot {

/// "external" for external linkage, which has no word in the assembly.
std::string linkageText(const llvm::GlobalValue &G);
std::optional<llvm::GlobalValue::LinkageTypes> linkageOf(llvm::StringRef Text);

/// "default", "hidden" or "protected".
std::string visibilityText(const llvm::GlobalValue &G);
std::optional<llvm::GlobalValue::VisibilityTypes>
visibilityOf(llvm::StringRef Text);

/// "ccc", "fastcc", ...; "cc 99" for unnamed conventions.
std::string callingConvText(llvm::CallingConv::ID CC);

/// The flags of \p I in the assembly's order: "nsw", "fast", "volatile", ...
std::vector<const char *> flagTexts(const llvm::Instruction &I);

/// "unordered", "seq_cst", ...; empty if \p I is not atomic.
std::string orderingText(const llvm::Instruction &I);

} // namespace passpilot
