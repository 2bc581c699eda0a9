// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What LLVM's readers find in objects and archives. The bytes may come from
// anybody: all functions throw InputError for damaged ones.

#pragma once

#include "object_symbols.h"
#include "llvm/ADT/StringRef.h"

#include <string>
#include <tuple>
#include <vector>

namespace passpilot {

/// Name, flags, and the bytes in the file, within \p Data.
using ObjectSection = std::tuple<std::string, uint64_t, llvm::StringRef>;
std::vector<ObjectSection> objectSections(llvm::StringRef Data);

/// A section of an ELF, COFF, Mach-O or wasm file.
struct ObjectPart {
  std::string Name;
  uint64_t Size;
  bool IsCode;
  /// Whether it is loaded from the file, as `ObjectSizes` says.
  bool IsLoaded;
};
std::vector<ObjectPart> objectParts(llvm::StringRef Data);

/// The bytes of machine code, and of all that is loaded from the file: what is
/// zero at the start, debug information and symbols are left out.
struct ObjectSizes {
  uint64_t Code = 0;
  uint64_t Allocated = 0;
};
/// The sizes of an ELF, COFF, Mach-O or wasm file, object or program.
ObjectSizes objectSizes(llvm::StringRef Data);

/// Name, size, whether other objects cannot see it, and the bytes that it
/// brings along in an ELF object, of defined functions.
using ObjectFunction = std::tuple<std::string, uint64_t, bool, uint64_t>;
std::vector<ObjectFunction> objectFunctions(llvm::StringRef Data);

/// The symbols of an ELF file; the functions of other files.
std::vector<ObjectSymbol> objectSymbols(llvm::StringRef Data);

/// The ranges of an ELF program. LLVM's reader of debug information crashes
/// where that is damaged: call this in a child process.
std::vector<UnitRange> unitRanges(llvm::StringRef Data);

/// Names and bytes of the members; those of a thin archive have no bytes.
using ArchiveMember = std::pair<std::string, llvm::StringRef>;
std::vector<ArchiveMember> archiveMembers(llvm::StringRef Data);

} // namespace passpilot
