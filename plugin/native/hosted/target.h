// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Makes target machines and remark files from options, as LLVM's tools do.

#pragma once

#include "../llvm/compat.h"
#include "../llvm/host_features.h"
#include "compile_options.h"
#include "llvm/Target/TargetMachine.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace passpilot {

/// The CPU and features of \p O; the defaults are -mcpu and -mattr.
std::string cpuOf(const TargetOptions &O);
std::string featuresOf(const TargetOptions &O);

/// A processor of the default target, by its -mcpu name.
struct Processor {
  std::string Name;
  std::string Attributes;            ///< in the syntax of -mattr
  std::vector<std::string> Features; ///< those that hostFeatures() reports
};

/// The processor \p Name; "native" is this machine's. Throws InputError for a
/// name that LLVM does not know.
Processor processorOf(const std::string &Name);

/// The codegen flags' options for \p T; if it is empty, the default target.
llvm::TargetOptions flagOptions(const llvm::Triple &T);

/// The machine for \p T, or the default target if it is empty; -march overrides
/// it. The error names the triple. The caller holds an OptionsInUse.
llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
makeTarget(llvm::Triple T, llvm::StringRef CPU, llvm::StringRef Features,
           const llvm::TargetOptions &Flags, llvm::CodeGenOptLevel Level,
           std::optional<llvm::Reloc::Model> Relocation);

/// Whether -mcpu=help or -mattr=help is set; LLVM has then printed the lists
/// for \p Triple's target. Throws InputError.
bool targetHelp(const std::string &Triple);

/// Opens the file of -pass-remarks-output, if set. Throws InputError.
RemarksFile openRemarks(llvm::LLVMContext &Context, const RemarkOptions &O);

} // namespace passpilot
