// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For compilers that link libLLVM and libpasspilot.so: adds advisors and passes
// in Python to the compiler's PassBuilder.

#ifndef PASSPILOT_LLVM_H
#define PASSPILOT_LLVM_H

#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace passpilot {

/// Lets passpilot advise the pipelines that \p PB builds or parses, and lets
/// them name passes in Python. Call it before registering the analyses of \p
/// PB. From then on, all code generation in the process is advised, too.
///
/// \p Options are NAME=VALUE: "inline=onnx:m.onnx", "evict=", "priority=",
/// "advise=POINT=RUNNER", "load=FILE.py", "at=POINT=PIPELINE", "log=FILE",
/// "on-error=", "timeout=", "size-budget=", "eviction-limit=". They hold for \p
/// PB, and for code generation until the next call, or on a thread that has run
/// a pipeline of \p PB until it runs another one. Options that are not given
/// come from the flags -passpilot-NAME, if the program lets LLVM parse its
/// command line, or from the environment variables PASSPILOT_NAME.
///
/// Lifetime: \p PB must not move until its analyses are registered and its
/// pipelines are parsed. It may be gone when they run.
///
/// Threads: several threads may call it, each with its own PassBuilder.
///
/// Errors in a compilation are diagnostics of the module's LLVMContext: without
/// a diagnostic handler, LLVM ends the process. Logs are complete when the
/// analysis managers are destroyed, which must precede the context's end.
llvm::Error registerAdvisors(llvm::PassBuilder &PB,
                             const std::vector<std::string> &Options = {});

} // namespace passpilot

#endif
