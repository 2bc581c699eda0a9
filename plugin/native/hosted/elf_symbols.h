// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions and variables of an ELF file, and the source files that they
// are from.

#pragma once

#include "../llvm/compat.h"
#include "elf_functions.h"
#include "object_symbols.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/DebugInfo/DWARF/DWARFContext.h"
#include "llvm/DebugInfo/DWARF/DWARFUnit.h"
#include "llvm/Object/ELF.h"
#include "llvm/Support/JSON.h"

namespace passpilot {

/// The symbols of one file. \p Checked unwraps an Expected, or throws.
template <typename ELFT, typename Checked> class ELFSymbols {
public:
  ELFSymbols(const llvm::object::ELFFile<ELFT> &File, Checked Unwrap)
      : File(File), Unwrap(Unwrap), Sections(Unwrap(File.sections())) {}

  std::vector<ObjectSymbol> read() {
    for (const auto &Section : Sections)
      if (Section.sh_type == llvm::ELF::SHT_SYMTAB)
        readTable(Section);
    return std::move(Found);
  }

  /// The addresses of source files and their variables, by debug information
  /// that is not compressed. An object has none: its addresses are within its
  /// sections.
  std::vector<UnitRange> readUnits() {
    std::vector<UnitRange> Units;
    if (isObject())
      return Units;
    llvm::StringMap<std::unique_ptr<llvm::MemoryBuffer>> Parts;
    for (const auto &Section : Sections) {
      llvm::StringRef Name = Unwrap(File.getSectionName(Section));
      if (Name.starts_with(".debug_") && Name.consume_front(".") &&
          !(Section.sh_flags & llvm::ELF::SHF_COMPRESSED) &&
          Section.sh_type != llvm::ELF::SHT_NOBITS)
        Parts.try_emplace(
            Name,
            llvm::MemoryBuffer::getMemBuffer(
                llvm::toStringRef(Unwrap(File.getSectionContents(Section))),
                Name, /*RequiresNullTerminator=*/false));
    }
    const auto Ignore = [](llvm::Error E) { llvm::consumeError(std::move(E)); };
    const auto Context = llvm::DWARFContext::create(
        Parts, ELFT::Is64Bits ? 8 : 4,
        ELFT::Endianness == llvm::endianness::little, Ignore, Ignore);
    for (const auto &Unit : Context->compile_units()) {
      const llvm::DWARFDie Die = Unit->getUnitDIE();
      if (!Die)
        continue;
      const llvm::StringRef Name =
          llvm::dwarf::toStringRef(Die.find(llvm::dwarf::DW_AT_name));
      auto Ranges = Die.getAddressRanges();
      if (!Ranges)
        Ignore(Ranges.takeError());
      else
        for (const llvm::DWARFAddressRange &Each : *Ranges)
          Units.emplace_back(Each.LowPC, Each.HighPC,
                             llvm::json::fixUTF8(Name));
      for (const llvm::DWARFDebugInfoEntry &Entry : Unit->dies())
        if (const uint64_t At = variableAt({Unit.get(), &Entry}))
          Units.emplace_back(At, At + 1, llvm::json::fixUTF8(Name));
    }
    return Units;
  }

private:
  /// The fixed address of a variable; 0 for all else, and for what the linker
  /// has dropped.
  static uint64_t variableAt(llvm::DWARFDie Die) {
    if (Die.getTag() != llvm::dwarf::DW_TAG_variable)
      return 0;
    const auto Location = Die.find(llvm::dwarf::DW_AT_location);
    const auto Block = Location ? Location->getAsBlock() : std::nullopt;
    if (!Block || Block->empty())
      return 0;
    llvm::DWARFUnit &Unit = *Die.getDwarfUnit();
    const llvm::DataExtractor Data =
        extractorOf(llvm::toStringRef(*Block),
                    ELFT::Endianness == llvm::endianness::little);
    llvm::DataExtractor::Cursor At(1);
    uint64_t Address = 0;
    if (Block->front() == llvm::dwarf::DW_OP_addr)
      Address = Data.getUnsigned(At, Unit.getAddressByteSize());
    else if (Block->front() == llvm::dwarf::DW_OP_addrx)
      if (const auto Item = Unit.getAddrOffsetSectionItem(
              static_cast<uint32_t>(Data.getULEB128(At))))
        Address = Item->Address;
    const bool Whole = At && At.tell() == Block->size();
    llvm::consumeError(At.takeError());
    return Whole ? Address : 0;
  }

  bool isObject() const { return File.getHeader().e_type == llvm::ELF::ET_REL; }

  void readTable(const typename ELFT::Shdr &Table) {
    const llvm::StringRef Names = Unwrap(File.getStringTableForSymtab(Table));
    const auto Symbols = Unwrap(File.symbols(&Table));
    const auto More = moreIndices<ELFT>(File, Unwrap, Sections, Table);
    std::string Source;
    for (const auto &Symbol : Symbols) {
      const llvm::StringRef Name = Unwrap(Symbol.getName(Names));
      const uint8_t Type = Symbol.getType();
      if (Type == llvm::ELF::STT_FILE)
        Source = llvm::json::fixUTF8(Name);
      if ((Type != llvm::ELF::STT_FUNC && Type != llvm::ELF::STT_OBJECT &&
           Type != llvm::ELF::STT_TLS && Type != llvm::ELF::STT_GNU_IFUNC) ||
          Symbol.isUndefined() || !Symbol.st_size)
        continue;
      const uint32_t At = Unwrap(File.getSectionIndex(Symbol, Symbols, More));
      if (!At || At >= Sections.size())
        continue;
      const bool Local = Symbol.getBinding() == llvm::ELF::STB_LOCAL;
      // The linker writes what a file has and others see behind all files.
      std::string Unit = Local || isObject() ? Source : "";
      Found.push_back(
          {llvm::json::fixUTF8(Name), Symbol.st_size, Symbol.st_value, At,
           llvm::json::fixUTF8(Unwrap(File.getSectionName(Sections[At]))),
           std::move(Unit), Local});
    }
  }

  const llvm::object::ELFFile<ELFT> &File;
  Checked Unwrap;
  typename ELFT::ShdrRange Sections;
  std::vector<ObjectSymbol> Found;
};

} // namespace passpilot
