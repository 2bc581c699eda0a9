// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a decision file says of a module beside its call sites: functions, a
// pipeline behind the level's own, and options of code generation.

#ifndef PASSPILOT_LLVM_DECISIONS_H
#define PASSPILOT_LLVM_DECISIONS_H

#include "../runtime/decision_file.h"
#include "profile_gate.h"
#include "llvm/Passes/PassBuilder.h"

namespace passpilot {

/// Lets the pipelines that \p PB builds apply what the decision file \p Path
/// says of their module, behind \p Gate. \p PB must outlive the pipelines, as
/// it does in LLVM's tools. \p GeneratesCode: the tool generates code next, so
/// that LLVM's options for it are set, for the whole process.
llvm::Error registerDecisions(llvm::PassBuilder &PB, const std::string &Path,
                              const std::shared_ptr<ProfileGate> &Gate,
                              bool GeneratesCode);

/// Applies \p Decided to every module; the caller sets LLVM's options.
void registerDecisions(llvm::PassBuilder &PB, UnitDecisions Decided,
                       const std::shared_ptr<ProfileGate> &Gate);

/// Refuses a pipeline of a policy that has a pass which is not permitted.
llvm::Error checkPermitted(llvm::StringRef Pipeline);

/// Lets the pipelines of \p PB end with \p Text, which it can parse.
void registerPipelineBehind(llvm::PassBuilder &PB, const std::string &Text);

} // namespace passpilot

#endif
