// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "core.h"

#include "../hosted/object_file.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Demangle/Demangle.h"
#include "llvm/Support/Compression.h"
#include "llvm/Support/JSON.h"

namespace passpilot {

static llvm::StringRef bytesOf(nb::bytes Data) {
  return {Data.c_str(), Data.size()};
}

static nb::bytes bytesOf(llvm::StringRef Data) {
  return nb::bytes(Data.data(), Data.size());
}

static void bindSymbols(nb::module_ &M) {
  M.def(
      "object_symbols",
      [](nb::bytes Data) {
        nb::list Found;
        for (const ObjectSymbol &Each : objectSymbols(bytesOf(Data)))
          Found.append(nb::make_tuple(Each.Name, Each.Size, Each.Address,
                                      Each.SectionNumber, Each.Section,
                                      Each.Unit, Each.IsLocal));
        return Found;
      },
      nb::sig("def object_symbols(data: bytes) -> list[tuple[str, int, int, "
              "int, str, str, bool]]"),
      nb::arg("data"),
      "Names, sizes, addresses, numbers and names of sections, source files, "
      "and whether other files cannot see it, of the symbols that a file "
      "defines.");
  M.def(
      "unit_ranges", [](nb::bytes Data) { return unitRanges(bytesOf(Data)); },
      nb::arg("data"),
      "Starts and ends of addresses, and the source files that they are from, "
      "of an ELF program; crashes where debug information is damaged.");
  M.def(
      "demangle",
      [](const std::string &Name) {
        return llvm::json::fixUTF8(llvm::demangle(Name));
      },
      nb::arg("name"), "A symbol as source text of C++, Rust or D.");
}

static void bindArchives(nb::module_ &M) {
  M.def(
      "archive_members",
      [](nb::bytes Data) {
        std::vector<std::pair<std::string, nb::bytes>> Found;
        for (const auto &[Name, Bytes] : archiveMembers(bytesOf(Data)))
          Found.emplace_back(Name, bytesOf(Bytes));
        return Found;
      },
      nb::arg("data"),
      "Names and bytes of an archive's members; those of a thin one have "
      "none.");
}

void bindObjectFile(nb::module_ &M) {
  bindSymbols(M);
  bindArchives(M);
  M.def(
      "object_sections",
      [](nb::bytes Data) {
        std::vector<std::tuple<std::string, uint64_t, nb::bytes>> Found;
        for (const auto &[Name, Flags, Bytes] : objectSections(bytesOf(Data)))
          Found.emplace_back(Name, Flags, bytesOf(Bytes));
        return Found;
      },
      nb::arg("data"),
      "Names, flags and bytes of the sections of an ELF object.");
  M.def(
      "object_parts",
      [](nb::bytes Data) {
        std::vector<std::tuple<std::string, uint64_t, bool, bool>> Found;
        for (const auto &[Name, Size, Code, Loaded] :
             objectParts(bytesOf(Data)))
          Found.emplace_back(Name, Size, Code, Loaded);
        return Found;
      },
      nb::arg("data"),
      "Names and sizes of the sections of an ELF, COFF, Mach-O or wasm file, "
      "whether they are machine code, and whether they are loaded.");
  M.def(
      "object_sizes",
      [](nb::bytes Data) {
        const ObjectSizes Sizes = objectSizes(bytesOf(Data));
        return std::pair(Sizes.Code, Sizes.Allocated);
      },
      nb::arg("data"),
      "The bytes of machine code, and of all that is loaded, of an ELF, COFF, "
      "Mach-O or wasm file.");
  M.def(
      "object_functions",
      [](nb::bytes Data) { return objectFunctions(bytesOf(Data)); },
      nb::arg("data"),
      "Names and sizes of the functions that an object defines, whether they "
      "are local, and the bytes of their unwind entries, tables and padding.");
  M.def(
      "zstd_size",
      [](nb::bytes Data) {
        const llvm::StringRef Bytes = bytesOf(Data);
        llvm::SmallVector<uint8_t, 0> Small;
        llvm::compression::zstd::compress(llvm::arrayRefFromStringRef(Bytes),
                                          Small, /*Level=*/19);
        return Small.size();
      },
      nb::arg("data"), "The bytes of data after zstd -19.");
}

} // namespace passpilot
