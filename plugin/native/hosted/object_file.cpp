// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "object_file.h"

#include "errors.h"
#include "llvm/Object/Archive.h"
#include "llvm/Object/ELFObjectFile.h"

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

/// Calls \p F with the ELFFile of some class and byte order. LLVM's ObjectFile
/// ends the process where a symbol is wrong; this one returns errors.
template <typename Function> auto withFile(StringRef Data, Function F) {
  if (!Data.starts_with("\177ELF"))
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

uint64_t objectCodeBytes(StringRef Data) {
  return withFile(Data, [](const auto &File) {
    uint64_t Sum = 0;
    for (const auto &Section : checked(File.sections()))
      if (Section.sh_flags & ELF::SHF_EXECINSTR)
        Sum += Section.sh_size;
    return Sum;
  });
}

std::vector<ObjectFunction> objectFunctions(StringRef Data) {
  return withFile(Data, [](const auto &File) {
    std::vector<ObjectFunction> Found;
    for (const auto &Section : checked(File.sections())) {
      if (Section.sh_type != ELF::SHT_SYMTAB)
        continue;
      const StringRef Names = checked(File.getStringTableForSymtab(Section));
      for (const auto &Symbol : checked(File.symbols(&Section)))
        if (Symbol.getType() == ELF::STT_FUNC && !Symbol.isUndefined())
          Found.emplace_back(checked(Symbol.getName(Names)).str(),
                             Symbol.st_size,
                             Symbol.getBinding() == ELF::STB_LOCAL);
    }
    return Found;
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
