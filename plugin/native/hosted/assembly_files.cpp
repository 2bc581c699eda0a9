// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keeps assembly in modules from reading files. LLVM makes a parser for each
// piece of inline assembly, after all its templates are expanded, and looks up
// the files of `.include` and `.incbin` in the parser's file system. That file
// system is replaced by an empty one when the target's part of the parser is
// made, so no spelling of the directives can get around it.

#include "assembly_files.h"

#include "setup.h"
#include "version.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/MC/MCParser/MCAsmParser.h"
#include "llvm/MC/MCParser/MCAsmParserExtension.h"
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

#if PASSPILOT_LLVM_MAJOR >= 22

void hideFiles(MCAsmParser &Parser) {
  Parser.getSourceManager().setVirtualFileSystem(
      makeIntrusiveRefCnt<vfs::InMemoryFileSystem>());
}

#else // its parser reads files itself

/// Stands in for the directives that read files.
class FileRefusal : public MCAsmParserExtension {
public:
  void enter(MCAsmParser &Parser) { Initialize(Parser); }
  static bool refuse(MCAsmParserExtension *Self, StringRef Directive,
                     SMLoc At) {
    return Self->getParser().Error(
        At, "Could not find " + Directive.drop_front().lower() + " file");
  }
};

void hideFiles(MCAsmParser &Parser) {
  static thread_local FileRefusal Refusal; // a thread has one parser at a time
  Refusal.enter(Parser);
  for (StringRef Name : {".include", ".incbin"})
    for (unsigned Capitals = 0; Capitals < 1U << Name.size(); Capitals += 2) {
      std::string Spelt = Name.str(); // LLVM looks for all as they are spelt
      for (size_t I = 1; I < Spelt.size(); ++I)
        if (Capitals >> I & 1)
          Spelt[I] = toUpper(Spelt[I]);
      Parser.addDirectiveHandler(Spelt, {&Refusal, FileRefusal::refuse});
    }
}

#endif

/// Before LLVM 23, there are options, too.
template <typename... Options>
MCTargetAsmParser *makeParser(const MCSubtargetInfo &STI, MCAsmParser &Parser,
                              const MCInstrInfo &MII, Options... O) {
  hideFiles(Parser);
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
