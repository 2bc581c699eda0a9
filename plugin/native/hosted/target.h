// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Target machines and remark files, as LLVM's tools make them from options.

#ifndef PASSPILOT_HOSTED_TARGET_H
#define PASSPILOT_HOSTED_TARGET_H

#include "../llvm/host_features.h"
#include "compile_options.h"
#include "llvm/IR/LLVMRemarkStreamer.h"
#include "llvm/Target/TargetMachine.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace passpilot {

/// What -mcpu and -mattr say where \p O says nothing.
std::string cpuOf(const TargetOptions &O);
std::string featuresOf(const TargetOptions &O);

/// A processor of the default target, as its name in -mcpu means it.
struct Processor {
  std::string Name;
  std::string Attributes;            ///< as -mattr takes them
  std::vector<std::string> Features; ///< of those that hostFeatures() looks for
};

/// The processor \p Name; of "native", this machine's. Throws InputError for a
/// name that LLVM does not know.
Processor processorOf(const std::string &Name);

/// What the codegen flags say for \p T; the default target's if it is empty.
llvm::TargetOptions flagOptions(const llvm::Triple &T);

/// A machine for \p T, or for -march in its place; for the default target if
/// \p T is empty. The error names the triple.
llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
makeTarget(llvm::Triple T, llvm::StringRef CPU, llvm::StringRef Features,
           const llvm::TargetOptions &Flags, llvm::CodeGenOptLevel Level,
           std::optional<llvm::Reloc::Model> Relocation);

/// Whether -mcpu=help or -mattr=help is set; LLVM has then printed the lists of
/// \p Triple's target. Throws InputError.
bool targetHelp(const std::string &Triple);

/// Opens the file of -pass-remarks-output, if there is one. Throws InputError.
llvm::LLVMRemarkFileHandle openRemarks(llvm::LLVMContext &Context,
                                       const RemarkOptions &O);

} // namespace passpilot

#endif
