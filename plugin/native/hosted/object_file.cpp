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

std::unique_ptr<ObjectFile> readObject(StringRef Data) {
  if (!Data.starts_with("\177ELF"))
    throw InputError("expected an ELF object, got another file");
  return checked(ObjectFile::createELFObjectFile(MemoryBufferRef(Data, "")),
                 "ELF object");
}

auto sectionsOf(const ObjectFile &Object) {
  return cast<ELFObjectFileBase>(Object).sections();
}

} // namespace

std::vector<ObjectSection> objectSections(StringRef Data) {
  const auto Object = readObject(Data);
  std::vector<ObjectSection> Found;
  uint64_t Total = 0;
  for (const ELFSectionRef Section : sectionsOf(*Object)) {
    if (Section.getType() == ELF::SHT_NULL)
      continue;
    const StringRef Name = checked(Section.getName(), "ELF object");
    const StringRef Bytes = checked(Section.getContents(), "ELF object");
    Total += Bytes.size();
    if (Total > Data.size()) // sections that overlap could be without bound
      throw InputError("expected an ELF object, got a damaged one");
    Found.emplace_back(Name.str(), Section.getFlags(), Bytes);
  }
  return Found;
}

uint64_t objectCodeBytes(StringRef Data) {
  const auto Object = readObject(Data);
  uint64_t Sum = 0;
  for (const ELFSectionRef Section : sectionsOf(*Object))
    Sum += Section.getFlags() & ELF::SHF_EXECINSTR ? Section.getSize() : 0;
  return Sum;
}

std::vector<ObjectFunction> objectFunctions(StringRef Data) {
  const auto Object = readObject(Data);
  std::vector<ObjectFunction> Found;
  for (const ELFSymbolRef Symbol : cast<ELFObjectFileBase>(*Object).symbols()) {
    if (Symbol.getELFType() != ELF::STT_FUNC ||
        checked(Symbol.getFlags(), "ELF object") & SymbolRef::SF_Undefined)
      continue;
    Found.emplace_back(checked(Symbol.getName(), "ELF object").str(),
                       Symbol.getSize(), Symbol.getBinding() == ELF::STB_LOCAL);
  }
  return Found;
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
