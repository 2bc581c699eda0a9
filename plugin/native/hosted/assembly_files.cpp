// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keeps assembly in modules from reading files. LLVM makes a parser for each
// piece of inline assembly, after all its templates are expanded, and looks up
// the files of `.include` and `.incbin` in the parser's file system. That file
// system is replaced by an empty one when the target's part of the parser is
// made, so no spelling of the directives can get around it.

#include "assembly_files.h"

#include "setup.h"

#include "llvm/MC/MCParser/MCAsmParser.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/VirtualFileSystem.h"

#include <map>

using namespace llvm;

namespace passpilot {

/// The targets as they were registered, by the target in the registry.
static std::map<const Target *, Target> &originals() {
  static std::map<const Target *, Target> Kept;
  return Kept;
}

/// Before LLVM 23, there are options, too.
template <typename... Options>
MCTargetAsmParser *makeParser(const MCSubtargetInfo &STI, MCAsmParser &Parser,
                              const MCInstrInfo &MII, Options... O) {
  Parser.getSourceManager().setVirtualFileSystem(
      makeIntrusiveRefCnt<vfs::InMemoryFileSystem>());
  std::string Error;
  const Target *T = TargetRegistry::lookupTarget(STI.getTargetTriple(), Error);
  const auto Found = originals().find(T);
  return Found == originals().end()
             ? nullptr // LLVM's error: no assembly parser
             : Found->second.createMCAsmParser(STI, Parser, MII, O...);
}

void refuseAssemblyFiles() {
  initializeLLVM();
  if (!originals().empty())
    return;
  for (const Target &T : TargetRegistry::targets()) {
    if (!T.hasMCAsmParser())
      continue;
    originals().emplace(&T, T);
    // The registry gives out its targets, which are variables, as constants.
    TargetRegistry::RegisterMCAsmParser(const_cast<Target &>(T), makeParser);
  }
}

} // namespace passpilot
