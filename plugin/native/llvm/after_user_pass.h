// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Restores what LLVM expects after a pass has changed the IR, so that the
// user's pass need not know it: an up-to-date call graph during a walk, loops
// in closed SSA form, no outdated scalar evolution. Also verifies the IR.

#pragma once

#include "pass_unit.h"

#include <optional>

namespace passpilot {

/// The functions that a pass below module level may change.
llvm::SmallVector<llvm::Function *, 4> functionsOf(const PassUnit &Unit);

/// The verifier's complaints about \p F or, if it is null, about what the pass
/// of \p Unit may change; empty if the IR is valid.
std::string complaints(const PassUnit &Unit, const llvm::Function *F);

/// Verifies what \p Unit's pass may have changed, if \p Verify, and updates
/// LLVM's structures. Returns what is wrong, if anything, and sets \p BrokenIR
/// if the IR is invalid.
std::optional<std::string> acceptChange(const PassUnit &Unit, bool Verify,
                                        bool &BrokenIR);

/// After a failure, still updates the call graph that LLVM walks. References
/// that the walk cannot accept become poison. Returns true if any did.
bool abandonChange(const PassUnit &Unit);

} // namespace passpilot
