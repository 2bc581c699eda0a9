// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One module's options for reading, optimizing and emitting.

#pragma once

#include "llvm/Support/CodeGen.h"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace passpilot {

struct ParseOptions {
  std::string Triple;     ///< overrides the module's, unless empty
  std::string DataLayout; ///< overrides the module's, unless empty
  bool Verify = true;
  bool StripDebug = false;
  bool DiscardNames = false; ///< names of values that are not global
  bool ForCodeGen = false;   ///< read as llc does: with the target's layout
};

struct TargetOptions {
  std::string CPU, Features; ///< empty: those of -mcpu and -mattr
};

struct RemarkOptions {
  std::string File, Filter, Format = "yaml"; ///< no file: no remarks written
  bool WithHotness = false;
};

struct PipelineOptions {
  TargetOptions Target;
  RemarkOptions Remarks;
  std::string AAPipeline = "default";
  bool Verify = true, VerifyEach = false, DebugPassManager = false;
  std::vector<std::string> PassPlugins;
  /// Pairs of extension point and pipeline text.
  std::vector<std::pair<std::string, std::string>> At;
  /// Whether default<LEVEL> is clang's pipeline of that level. It differs from
  /// opt's: at -Oz, clang vectorizes straight-line code.
  bool AsClang = false;
  std::string Decisions; ///< path of a decision file; may be empty
  std::string Profile;   ///< path of a profile; may be empty
  std::string Behind;    ///< a pipeline behind the level's own; may be empty
  /// Words about functions by their names, as in a decision file.
  std::map<std::string, std::vector<std::string>> Functions;
};

/// llc's options beyond those that LLVM itself parses.
struct EmitOptions {
  TargetOptions Target;
  RemarkOptions Remarks;
  llvm::CodeGenFileType FileType = llvm::CodeGenFileType::ObjectFile;
  unsigned OptLevel = 2;
  std::string RelocationModel; ///< "static", "pic", ...; empty: the target's
  bool Verify = true, SimplifyLibCalls = true;
  bool AsmVerbose = true, PreserveAsmComments = true, ShowEncoding = false;
  std::optional<bool> DwarfDirectory;
  std::optional<unsigned> AsmVariant;
  std::vector<std::string> IncludePaths, PrinterOptions;
  std::string BinutilsVersion;
  std::string OutputName;        ///< the object's name, for CodeView
  std::string SplitDwarfFile;    ///< the .dwo's name, for DWARF
  bool SplitDwarfOutput = false; ///< write the .dwo to its own output
  bool Costs = false;            ///< measure the cost of register allocation
  bool Frequencies = false;      ///< report the blocks' frequencies
  /// Run the machine outliner on all functions without "nooutline", unless the
  /// user has set LLVM's option.
  bool Outlines = false;
};

} // namespace passpilot
