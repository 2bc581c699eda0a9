// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sections and functions of wasm files. LLVM's own reader ends the process
// where a number is damaged; this one throws InputError.

#pragma once

#include "llvm/ADT/StringRef.h"

#include <string>
#include <tuple>
#include <vector>

namespace passpilot {

bool isWasm(llvm::StringRef Data);

/// The kind (WASM_SEC_*) and the bytes of a section.
using WasmSection = std::pair<uint8_t, llvm::StringRef>;
std::vector<WasmSection> wasmSections(llvm::StringRef Data);

/// Name, size, and whether other objects cannot see it, of the functions that
/// an object's symbol table names. A linked program has no such table;
/// \p WithNames reads the names that it has for debuggers.
std::vector<std::tuple<std::string, uint64_t, bool>>
wasmFunctions(llvm::StringRef Data, bool WithNames = false);

} // namespace passpilot
