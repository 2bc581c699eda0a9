// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is known of the symbols and source files of a program.

#pragma once

#include <cstdint>
#include <string>
#include <tuple>

namespace passpilot {

/// A function or a variable that a program or an object defines.
struct ObjectSymbol {
  std::string Name;
  uint64_t Size;
  uint64_t Address;
  /// The number of its section; symbols of one address in it are the same code.
  uint64_t SectionNumber;
  std::string Section;
  /// The source file, by the symbol table; else empty.
  std::string Unit;
  bool IsLocal;
};

/// The start and the end of addresses that are from a source file, by the debug
/// information of an ELF program.
using UnitRange = std::tuple<uint64_t, uint64_t, std::string>;

} // namespace passpilot
