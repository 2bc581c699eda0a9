// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The options of one module: how it is read, optimized and emitted.

#ifndef PASSPILOT_HOSTED_COMPILE_OPTIONS_H
#define PASSPILOT_HOSTED_COMPILE_OPTIONS_H

#include "llvm/Support/CodeGen.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace passpilot {

struct ParseOptions {
  std::string Triple;     ///< overrides the module's; empty: the module's
  std::string DataLayout; ///< likewise
  bool Verify = true;
  bool StripDebug = false;
  bool DiscardNames = false; ///< of values that are not global
  bool ForCodeGen = false;   ///< as llc reads: with the target's data layout
};

struct TargetOptions {
  std::string CPU, Features; ///< empty: as LLVM's -mcpu and -mattr say
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
  /// Extension points of LLVM's, each with a pipeline text to run there.
  std::vector<std::pair<std::string, std::string>> At;
};

/// What llc has beside the options that LLVM itself parses.
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
  std::string OutputName;        ///< the object's, for CodeView
  std::string SplitDwarfFile;    ///< the .dwo's name, for the DWARF
  bool SplitDwarfOutput = false; ///< write the .dwo apart
  bool Costs = false;            ///< measure what register allocation costs
  bool Frequencies = false;      ///< tell how often each block runs
};

} // namespace passpilot

#endif
