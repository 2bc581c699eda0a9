// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For compilers that link libLLVM and libpasspilot.so: advisors and passes in
// Python on a PassBuilder of their own.

#ifndef PASSPILOT_LLVM_H
#define PASSPILOT_LLVM_H

#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace passpilot {

/// Lets the pipelines that \p PB builds and parses be advised, and name passes
/// in Python; to be called before its analyses are registered. Code generation
/// of the process is advised from then on.
///
/// \p Options are NAME=VALUE: "inline=onnx:m.onnx", "evict=", "priority=",
/// "advise=POINT=RUNNER", "load=FILE.py", "at=POINT=PIPELINE", "log=FILE",
/// "on-error=", "timeout=", "size-budget=", "eviction-limit=". They hold for
/// the process until they are given again. What they leave open is up to the
/// flags -passpilot-NAME, where the program has LLVM parse its command line,
/// and the variables PASSPILOT_NAME.
///
/// Threads: may be called on several at once, each with a builder of its own.
///
/// What goes wrong in a compilation is an error of the module's LLVMContext: a
/// program has to give it a diagnostic handler, or LLVM ends the process. Logs
/// are complete once the analysis managers are gone, and before the context is.
llvm::Error registerAdvisors(llvm::PassBuilder &PB,
                             const std::vector<std::string> &Options = {});

} // namespace passpilot

#endif
