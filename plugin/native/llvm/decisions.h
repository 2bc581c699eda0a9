// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a decision file says of a module beside its call sites: functions, a
// pipeline behind the level's own, and options of code generation.

#pragma once

#include "../runtime/decision_file.h"
#include "user_pass.h"

namespace passpilot {

/// What does not fit between a decision file and a module.
struct Misfit {
  std::string Text;        ///< a warning; empty for none
  bool OfAllUnits = false; ///< whether other units of a build are likely alike
};

/// Called at the end of a module's pipeline with what is decided for it, null
/// if nothing is.
using OnDecided =
    std::function<void(llvm::Module &, const UnitDecisions *, const Misfit &)>;

/// Lets the pipelines that \p PB builds apply what the decision file \p Path
/// says of their module, behind the gate of \p Passes, but for LLVM's options:
/// \p AtEnd knows what the tool does next. \p Passes, registered with \p PB,
/// parses.
llvm::Error registerDecisions(UserPasses &Passes, llvm::PassBuilder &PB,
                              const std::string &Path, const OnDecided &AtEnd);

/// Applies \p Decided to every module; the caller sets LLVM's options.
void registerDecisions(UserPasses &Passes, llvm::PassBuilder &PB,
                       UnitDecisions Decided);

/// Refuses a pipeline of a policy that has a pass which is not permitted.
llvm::Error checkPermitted(llvm::StringRef Pipeline);

/// Lets the pipelines of \p PB end with \p Text, which \p Passes can parse.
void registerPipelineBehind(UserPasses &Passes, llvm::PassBuilder &PB,
                            const std::string &Text);

} // namespace passpilot
