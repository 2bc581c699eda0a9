// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM's command-line options, by name.

#pragma once

#include "llvm/ADT/StringRef.h"

namespace passpilot {

/// The value of LLVM's boolean option \p Name; false if there is none.
bool boolOption(llvm::StringRef Name);

/// LLVM's growth limit for ML inlining if the user has set it, else 0. LLVM's
/// own default would silently stop the questions.
double growthLimitOfUser();

/// Whether the user has set LLVM's option \p Name.
bool isGiven(llvm::StringRef Name);

/// Lifts LLVM's limit of evictions per live range, unless the user has set it.
/// The session has a limit of its own, which does not count the default's
/// evictions.
void liftEvictionLimit();

/// Sets LLVM's process-wide option that \p Text names, as NAME or NAME=VALUE,
/// unless it is set. Returns false if LLVM refuses it. \p Position is that of a
/// user's argument.
bool setUnlessGiven(llvm::StringRef Text, unsigned Position);

/// Resets process-wide options that back ends overwrite (PowerPC enlarges jump
/// tables), so that one compilation does not affect the next. Call this before
/// making a target machine, unless another compilation is going on.
void forgetTargets();

} // namespace passpilot
