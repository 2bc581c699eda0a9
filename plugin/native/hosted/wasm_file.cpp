// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "wasm_file.h"

#include "errors.h"

#include "../llvm/compat.h"
#include "llvm/BinaryFormat/Wasm.h"

using namespace llvm;

namespace passpilot {

namespace {

/// Reads numbers and texts; throws InputError at the first that is damaged.
class Reader {
public:
  explicit Reader(StringRef Data, uint64_t Offset = 0)
      : Data(extractorOf(Data)), At(Offset) {}
  ~Reader() { consumeError(At.takeError()); }

  bool atEnd() const { return Data.eof(At); }
  uint8_t byte() { return checked(Data.getU8(At)); }
  uint64_t number() { return checked(Data.getULEB128(At)); }
  /// Bytes with their count before them.
  StringRef text() {
    const uint64_t Size = number();
    return checked(Data.getBytes(At, Size));
  }

private:
  DataExtractor Data;
  DataExtractor::Cursor At;

  template <typename T> T checked(T Value) {
    if (!At)
      throw InputError("expected a wasm object, got a damaged one");
    return Value;
  }
};

} // namespace

bool isWasm(StringRef Data) {
  return Data.starts_with(StringRef("\0asm\1\0\0", 8));
}

std::vector<WasmSection> wasmSections(StringRef Data) {
  std::vector<WasmSection> Found;
  for (Reader In(Data, 8); !In.atEnd();) {
    const uint8_t Kind = In.byte();
    Found.emplace_back(Kind, In.text());
  }
  return Found;
}

/// The bytes of the functions that the code section has.
static std::vector<uint64_t> bodySizes(StringRef Code) {
  std::vector<uint64_t> Sizes;
  Reader In(Code);
  for (uint64_t Left = In.number(); Left; --Left)
    Sizes.push_back(In.text().size());
  return Sizes;
}

/// A function in the symbol table: its name, index, and whether it is local.
using FunctionSymbol = std::tuple<StringRef, uint64_t, bool>;

/// The defined functions of a symbol table; \p Imports counts the others, which
/// have the first indices.
static std::vector<FunctionSymbol> readSymbols(StringRef Table,
                                               uint64_t &Imports) {
  std::vector<FunctionSymbol> Found;
  Reader In(Table);
  for (uint64_t Left = In.number(); Left; --Left) {
    const uint8_t Kind = In.byte();
    const uint64_t Flags = In.number();
    const bool Defined = !(Flags & wasm::WASM_SYMBOL_UNDEFINED);
    if (Kind == wasm::WASM_SYMBOL_TYPE_DATA) {
      In.text();
      for (int Number = 0; Defined && Number < 3; ++Number)
        In.number(); // segment, offset, size
      continue;
    }
    const uint64_t Index = In.number();
    const bool Named = Kind != wasm::WASM_SYMBOL_TYPE_SECTION &&
                       (Defined || Flags & wasm::WASM_SYMBOL_EXPLICIT_NAME);
    const StringRef Name = Named ? In.text() : StringRef();
    if (Kind != wasm::WASM_SYMBOL_TYPE_FUNCTION)
      continue;
    if (Defined)
      Found.emplace_back(Name, Index, Flags & wasm::WASM_SYMBOL_BINDING_LOCAL);
    else
      Imports = std::max(Imports, Index + 1);
  }
  return Found;
}

/// The functions among the imports, which have the first indices.
static uint64_t importedFunctions(StringRef Section) {
  uint64_t Found = 0;
  Reader In(Section);
  for (uint64_t Left = In.number(); Left; --Left) {
    In.text(); // the module
    In.text();
    const uint8_t Kind = In.byte();
    Found += Kind == wasm::WASM_EXTERNAL_FUNCTION;
    if (Kind == wasm::WASM_EXTERNAL_TABLE || Kind == wasm::WASM_EXTERNAL_GLOBAL)
      In.byte(); // the type
    if (Kind == wasm::WASM_EXTERNAL_TABLE ||
        Kind == wasm::WASM_EXTERNAL_MEMORY) {
      if (In.byte() & wasm::WASM_LIMITS_FLAG_HAS_MAX)
        In.number();
    } else if (Kind == wasm::WASM_EXTERNAL_TAG)
      In.byte();
    In.number();
  }
  return Found;
}

/// The functions that the section of names lists.
static std::vector<FunctionSymbol> readNames(Reader &In) {
  std::vector<FunctionSymbol> Found;
  while (!In.atEnd()) {
    const uint8_t Part = In.byte();
    Reader Names(In.text());
    if (Part != wasm::WASM_NAMES_FUNCTION)
      continue;
    for (uint64_t Left = Names.number(); Left; --Left) {
      const uint64_t Index = Names.number();
      Found.emplace_back(Names.text(), Index, false);
    }
  }
  return Found;
}

std::vector<std::tuple<std::string, uint64_t, bool>>
wasmFunctions(StringRef Data, bool WithNames) {
  std::vector<uint64_t> Sizes;
  std::vector<FunctionSymbol> Symbols;
  uint64_t Imports = 0;
  for (const auto &[Kind, Bytes] : wasmSections(Data)) {
    if (Kind == wasm::WASM_SEC_CODE)
      Sizes = bodySizes(Bytes);
    if (Kind == wasm::WASM_SEC_IMPORT && WithNames)
      Imports = importedFunctions(Bytes);
    if (Kind != wasm::WASM_SEC_CUSTOM)
      continue;
    Reader In(Bytes);
    const StringRef Title = In.text();
    if (Title == "name" && WithNames && Symbols.empty())
      Symbols = readNames(In);
    if (Title != "linking")
      continue;
    In.number(); // version
    while (!In.atEnd()) {
      const uint8_t Part = In.byte();
      const StringRef Contents = In.text();
      if (Part == wasm::WASM_SYMBOL_TABLE)
        Symbols = readSymbols(Contents, Imports);
    }
  }
  std::vector<std::tuple<std::string, uint64_t, bool>> Found;
  for (const auto &[Name, Index, Local] : Symbols)
    if (Index >= Imports && Index - Imports < Sizes.size())
      Found.emplace_back(Name.str(), Sizes[Index - Imports], Local);
  return Found;
}

} // namespace passpilot
