// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pass `estimate-profile`, for pipelines in front of code generation.

#pragma once

#include "llvm/ADT/StringRef.h"

namespace llvm {
class PassBuilder;
} // namespace llvm

namespace passpilot {

constexpr llvm::StringLiteral EstimateProfileName = "estimate-profile";

/// Lets pipelines of \p PB contain `estimate-profile<limit=N;small=S>`. The
/// pass estimates how often functions run, by LLVM's block frequencies and the
/// calls inside the module, and writes that as their entry counts. A function
/// that other modules can call counts as called once more, and a function of n
/// instructions as called S/n times, if that is more. The module gets a profile
/// summary in which more than N runs are not cold. With
/// -enable-machine-outliner=optimistic-pgo the machine outliner then takes only
/// from blocks that run N times or less. A module with a profile keeps its own.
void registerEstimatedProfile(llvm::PassBuilder &PB);

} // namespace passpilot
