// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "object_file.h"

#include "elf_functions.h"
#include "elf_symbols.h"
#include "errors.h"
#include "wasm_file.h"
#include "llvm/BinaryFormat/Magic.h"
#include "llvm/BinaryFormat/Wasm.h"
#include "llvm/Object/Archive.h"
#include "llvm/Object/COFF.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Object/SymbolSize.h"
#include "llvm/Support/JSON.h"

using namespace llvm;
using namespace llvm::object;

namespace passpilot {

namespace {

template <typename T> T checked(Expected<T> Value, const char *What) {
  if (Value)
    return std::move(*Value);
  consumeError(Value.takeError());
  throw InputError(std::string("expected an ") + What + ", got a damaged one");
}

template <typename T> T checked(Expected<T> Value) {
  return checked(std::move(Value), "ELF object");
}

bool isELF(StringRef Data) { return Data.starts_with("\177ELF"); }

/// A COFF or Mach-O file.
std::unique_ptr<ObjectFile> otherFile(StringRef Data) {
  const auto Kind = identify_magic(Data);
  if (Kind == file_magic::coff_object ||
      Kind == file_magic::pecoff_executable ||
      (Kind >= file_magic::macho_object &&
       Kind <= file_magic::macho_kext_bundle))
    return checked(ObjectFile::createObjectFile(MemoryBufferRef(Data, "")),
                   "object");
  throw InputError(
      std::string("expected an object of ELF, COFF, Mach-O or wasm, got ") +
      (Kind == file_magic::bitcode
           ? "LLVM bitcode; passpilot llc -filetype=obj makes an object of it"
           : "another file"));
}

/// Calls \p F with the ELFFile of some class and byte order. LLVM's ObjectFile
/// ends the process where a symbol is wrong; this one returns errors.
template <typename Function> auto withFile(StringRef Data, Function F) {
  if (!isELF(Data))
    throw InputError("expected an ELF object, got another file");
  const auto [Class, Order] = getElfArchType(Data);
  const bool Wide = Class == ELF::ELFCLASS64;
  if (Order == ELF::ELFDATA2LSB)
    return Wide ? F(checked(ELFFile<ELF64LE>::create(Data)))
                : F(checked(ELFFile<ELF32LE>::create(Data)));
  return Wide ? F(checked(ELFFile<ELF64BE>::create(Data)))
              : F(checked(ELFFile<ELF32BE>::create(Data)));
}

} // namespace

std::vector<ObjectSection> objectSections(StringRef Data) {
  return withFile(Data, [&](const auto &File) {
    std::vector<ObjectSection> Found;
    uint64_t Total = 0;
    for (const auto &Section : checked(File.sections())) {
      if (Section.sh_type == ELF::SHT_NULL)
        continue;
      const StringRef Name = checked(File.getSectionName(Section));
      const auto Bytes = Section.sh_type == ELF::SHT_NOBITS
                             ? ArrayRef<uint8_t>()
                             : checked(File.getSectionContents(Section));
      Total += Bytes.size();
      if (Total > Data.size()) // sections that overlap could be without bound
        throw InputError("expected an ELF object, got a damaged one");
      Found.emplace_back(Name.str(), Section.sh_flags, toStringRef(Bytes));
    }
    return Found;
  });
}

/// Whether the section of a COFF or Mach-O file is loaded from it.
static bool isLoaded(const ObjectFile &File, const SectionRef &Section) {
  if (const auto *COFF = dyn_cast<COFFObjectFile>(&File))
    return !(COFF->getCOFFSection(Section)->Characteristics &
             (COFF::IMAGE_SCN_LNK_REMOVE | COFF::IMAGE_SCN_LNK_INFO |
              COFF::IMAGE_SCN_CNT_UNINITIALIZED_DATA |
              COFF::IMAGE_SCN_MEM_DISCARDABLE));
  return !Section.isBSS() && !Section.isDebugSection();
}

/// What the sections of a wasm file are called in its specification.
static std::string wasmName(uint8_t Kind) {
  static constexpr StringLiteral Names[] = {
      "custom", "type",  "import",  "function", "table", "memory",     "global",
      "export", "start", "element", "code",     "data",  "data count", "tag"};
  return Kind < std::size(Names) ? Names[Kind].str() : std::to_string(Kind);
}

static std::vector<ObjectPart> elfParts(StringRef Data) {
  return withFile(Data, [](const auto &File) {
    std::vector<ObjectPart> Found;
    for (const auto &Section : checked(File.sections())) {
      Expected<StringRef> Name = File.getSectionName(Section);
      if (!Name)
        consumeError(Name.takeError());
      const bool Loaded = Section.sh_flags & ELF::SHF_ALLOC &&
                          Section.sh_type != ELF::SHT_NOBITS;
      Found.push_back({Name ? Name->str() : "", Section.sh_size,
                       (Section.sh_flags & ELF::SHF_EXECINSTR) != 0, Loaded});
    }
    return Found;
  });
}

std::vector<ObjectPart> objectParts(StringRef Data) {
  if (isELF(Data))
    return elfParts(Data);
  std::vector<ObjectPart> Found;
  if (isWasm(Data)) {
    for (const auto &[Kind, Bytes] : wasmSections(Data))
      Found.push_back({wasmName(Kind), Bytes.size(),
                       Kind == wasm::WASM_SEC_CODE,
                       Kind != wasm::WASM_SEC_CUSTOM});
    return Found;
  }
  const auto File = otherFile(Data);
  for (const SectionRef &Section : File->sections())
    Found.push_back({checked(Section.getName(), "object").str(),
                     Section.getSize(), Section.isText(),
                     isLoaded(*File, Section)});
  return Found;
}

ObjectSizes objectSizes(StringRef Data) {
  ObjectSizes Sum;
  for (const ObjectPart &Part : objectParts(Data)) {
    Sum.Code += Part.IsCode ? Part.Size : 0;
    Sum.Allocated += Part.IsLoaded ? Part.Size : 0;
  }
  return Sum;
}

/// Whether a COFF or Mach-O file defines the symbol as a function.
static bool isFunction(const ObjectFile &File, const SymbolRef &Symbol) {
  return checked(Symbol.getType(), "object") == SymbolRef::ST_Function &&
         !(checked(Symbol.getFlags(), "object") & SymbolRef::SF_Undefined) &&
         // The start of a section of Mach-O has such a name.
         !(File.isMachO() &&
           checked(Symbol.getName(), "object").starts_with("ltmp"));
}

/// The functions of a COFF or Mach-O file.
static std::vector<ObjectFunction> functionsOf(const ObjectFile &File) {
  std::vector<ObjectFunction> Found;
  for (const auto &[Symbol, Size] : computeSymbolSizes(File)) {
    const uint32_t Flags = checked(Symbol.getFlags(), "object");
    const StringRef Name = checked(Symbol.getName(), "object");
    if (isFunction(File, Symbol))
      Found.emplace_back(Name.str(), Size, !(Flags & SymbolRef::SF_Global), 0);
  }
  return Found;
}

std::vector<ObjectFunction> objectFunctions(StringRef Data) {
  if (isWasm(Data)) {
    std::vector<ObjectFunction> Found;
    for (auto &[Name, Size, Local] : wasmFunctions(Data))
      Found.emplace_back(std::move(Name), Size, Local, 0);
    return Found;
  }
  if (!isELF(Data))
    return functionsOf(*otherFile(Data));
  return withFile(Data, [](const auto &File) {
    const auto Unwrap = [](auto Value) { return checked(std::move(Value)); };
    return ELFFunctions(File, Unwrap).read();
  });
}

std::vector<ObjectSymbol> objectSymbols(StringRef Data) {
  if (isELF(Data))
    return withFile(Data, [](const auto &File) {
      const auto Unwrap = [](auto Value) { return checked(std::move(Value)); };
      return ELFSymbols(File, Unwrap).read();
    });
  std::vector<ObjectSymbol> Found;
  if (isWasm(Data)) {
    for (auto &[Name, Size, Local] : wasmFunctions(Data, /*WithNames=*/true))
      Found.push_back({json::fixUTF8(Name), Size, Found.size(), 0, "code",
                       /*Unit=*/"", Local});
    return Found;
  }
  const auto File = otherFile(Data);
  for (const auto &[Symbol, Size] : computeSymbolSizes(*File)) {
    const uint32_t Flags = checked(Symbol.getFlags(), "object");
    const StringRef Name = checked(Symbol.getName(), "object");
    const auto Section = checked(Symbol.getSection(), "object");
    if (!isFunction(*File, Symbol) || Section == File->section_end())
      continue;
    Found.push_back({json::fixUTF8(Name), Size,
                     checked(Symbol.getAddress(), "object"),
                     Section->getIndex(),
                     json::fixUTF8(checked(Section->getName(), "object")),
                     /*Unit=*/"", !(Flags & SymbolRef::SF_Global)});
  }
  return Found;
}

std::vector<UnitRange> unitRanges(StringRef Data) {
  return withFile(Data, [](const auto &File) {
    const auto Unwrap = [](auto Value) { return checked(std::move(Value)); };
    return ELFSymbols(File, Unwrap).readUnits();
  });
}

std::vector<ArchiveMember> archiveMembers(StringRef Data) {
  const auto Read =
      checked(Archive::create(MemoryBufferRef(Data, "")), "archive");
  std::vector<ArchiveMember> Found;
  Error Failed = Error::success();
  for (const Archive::Child &Member : Read->children(Failed)) {
    auto Name = Member.getName();
    // The buffer of a thin archive's member is a file, which the caller reads.
    auto Bytes = Read->isThin() ? Expected<StringRef>("") : Member.getBuffer();
    Failed = joinErrors(std::move(Failed),
                        joinErrors(Name.takeError(), Bytes.takeError()));
    if (Failed)
      break;
    Found.emplace_back(Name->str(), *Bytes);
  }
  if (Failed)
    checked<bool>(std::move(Failed), "archive");
  return Found;
}

} // namespace passpilot
