// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a function of an ELF object brings into a program beside its code: its
// entry in the unwind table and in the index of that, the tables of its calls
// and jumps, and the padding of its section.

#pragma once

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Object/ELF.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MathExtras.h"

#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace passpilot {

/// Where the symbols of \p Table name sections beyond the 65,279 that fit into
/// a symbol.
template <typename ELFT, typename Checked>
llvm::object::DataRegion<typename ELFT::Word>
moreIndices(const llvm::object::ELFFile<ELFT> &File, Checked Unwrap,
            typename ELFT::ShdrRange Sections,
            const typename ELFT::Shdr &Table) {
  for (const auto &Each : Sections)
    if (Each.sh_type == llvm::ELF::SHT_SYMTAB_SHNDX &&
        Each.sh_link < Sections.size() && &Sections[Each.sh_link] == &Table)
      return Unwrap(File.getSHNDXTable(Each, Sections));
  return {llvm::ArrayRef<typename ELFT::Word>()};
}

/// The functions of one object. \p Checked unwraps an Expected, or throws.
template <typename ELFT, typename Checked> class ELFFunctions {
public:
  /// An `ObjectFunction`.
  using Function = std::tuple<std::string, uint64_t, bool, uint64_t>;

  ELFFunctions(const llvm::object::ELFFile<ELFT> &File, Checked Unwrap)
      : File(File), Unwrap(Unwrap), Sections(Unwrap(File.sections())),
        Attached(Sections.size()), Count(Sections.size()) {}

  std::vector<Function> read() {
    if (File.getHeader().e_type == llvm::ELF::ET_REL)
      readTables();
    for (const bool Counting : {true, false})
      for (const auto &Section : Sections)
        if (Section.sh_type == llvm::ELF::SHT_SYMTAB)
          readSymbols(Section, Counting);
    return std::move(Found);
  }

private:
  using Section = typename ELFT::Shdr;
  /// An entry of the index that lld and GNU ld make of an unwind table.
  static constexpr uint64_t IndexEntry = 8;

  void readTables() {
    llvm::StringMap<size_t> Code;
    for (const auto &[At, Each] : llvm::enumerate(Sections))
      if (llvm::StringRef Name = Unwrap(File.getSectionName(Each));
          Each.sh_flags & llvm::ELF::SHF_EXECINSTR &&
          Name.consume_front(".text."))
        Code.try_emplace(Name, At);
    for (const auto &Each : Sections) {
      llvm::StringRef Name = Unwrap(File.getSectionName(Each));
      if (Each.sh_type == llvm::ELF::SHT_RELA)
        readEntries(Each, Unwrap(File.relas(Each)),
                    [](const auto &Entry, auto) { return Entry.r_addend; });
      else if (Each.sh_type == llvm::ELF::SHT_REL)
        readEntries(Each, Unwrap(File.rels(Each)),
                    [](const auto &Entry, auto Bytes) {
                      return word(&Bytes[Entry.r_offset]);
                    });
      else if (!(Each.sh_flags & llvm::ELF::SHF_ALLOC) ||
               Each.sh_flags & llvm::ELF::SHF_EXECINSTR ||
               Each.sh_type == llvm::ELF::SHT_NOBITS)
        continue;
      else if (Each.sh_flags & llvm::ELF::SHF_LINK_ORDER)
        attach(Each.sh_link, Each.sh_size);
      else if (Name.consume_front(".rodata.") && Code.contains(Name))
        attach(Code[Name], Each.sh_size);
    }
  }

  void attach(size_t At, uint64_t Size) {
    if (At < Attached.size())
      Attached[At] += Size;
  }

  /// The entries of .eh_frame, by what their first address is relocated to.
  template <typename Relocations, typename Addend>
  void readEntries(const Section &Each, Relocations Range, Addend Add) {
    if (Each.sh_info >= Sections.size())
      return;
    const Section &Table = Sections[Each.sh_info];
    if (Unwrap(File.getSectionName(Table)) != ".eh_frame" ||
        Table.sh_type == llvm::ELF::SHT_NOBITS)
      return;
    const auto Bytes = Unwrap(File.getSectionContents(Table));
    std::map<uint64_t, uint64_t> Sizes;
    for (uint64_t At = 0; At + 12 <= Bytes.size();) {
      const uint64_t Length = word(&Bytes[At]);
      if (!Length || Length == UINT32_MAX)
        break;
      if (word(&Bytes[At + 4])) // else what entries have in common
        Sizes[At + 8] = Length + 4 + IndexEntry;
      At += 4 + Length;
    }
    const Section *Names = Unwrap(File.getSection(Each.sh_link));
    const auto Symbols = Unwrap(File.symbols(Names));
    const auto More = moreIndices<ELFT>(File, Unwrap, Sections, *Names);
    for (const auto &Relocation : Range) {
      const auto Size = Sizes.find(Relocation.r_offset);
      const auto Symbol = Relocation.getSymbol(false);
      if (Size != Sizes.end() && Symbol < Symbols.size())
        Entries[{uint64_t(Unwrap(
                     File.getSectionIndex(Symbols[Symbol], Symbols, More))),
                 Symbols[Symbol].st_value + Add(Relocation, Bytes)}] +=
            Size->second;
    }
  }

  static uint32_t word(const uint8_t *Bytes) {
    return llvm::support::endian::read32<ELFT::Endianness>(Bytes);
  }

  void readSymbols(const Section &Table, bool Counting) {
    const llvm::StringRef Names = Unwrap(File.getStringTableForSymtab(Table));
    const auto Symbols = Unwrap(File.symbols(&Table));
    const auto Indices = moreIndices<ELFT>(File, Unwrap, Sections, Table);
    for (const auto &Symbol : Symbols) {
      if (Symbol.getType() != llvm::ELF::STT_FUNC || Symbol.isUndefined())
        continue;
      const size_t At = Unwrap(File.getSectionIndex(Symbol, Symbols, Indices));
      if (Counting) {
        if (At < Count.size())
          ++Count[At];
        continue;
      }
      const auto Entry = Entries.find({At, Symbol.st_value});
      uint64_t More = Entry == Entries.end() ? 0 : Entry->second;
      if (At < Count.size()) {
        More += Attached[At] / Count[At];
        if (Count[At] == 1 && Sections[At].sh_addralign > 1)
          More += llvm::alignTo(Symbol.st_size, Sections[At].sh_addralign) -
                  Symbol.st_size;
      }
      Found.emplace_back(Unwrap(Symbol.getName(Names)).str(), Symbol.st_size,
                         Symbol.getBinding() == llvm::ELF::STB_LOCAL, More);
    }
  }

  const llvm::object::ELFFile<ELFT> &File;
  Checked Unwrap;
  typename ELFT::ShdrRange Sections;
  /// The bytes of tables, and the functions, by section.
  std::vector<uint64_t> Attached;
  std::vector<size_t> Count;
  /// The bytes of entries by section and address.
  std::map<std::pair<uint64_t, uint64_t>, uint64_t> Entries;
  std::vector<Function> Found;
};

} // namespace passpilot
