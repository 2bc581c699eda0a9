// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What LLVM expects once a pass has changed the IR, and a pass of the user's
// need not know: a call graph that is up to date while LLVM walks it, loops in
// closed SSA form, scalar evolution without what it remembers. And valid IR.

#ifndef PASSPILOT_LLVM_PASS_CHANGE_H
#define PASSPILOT_LLVM_PASS_CHANGE_H

#include "pass_unit.h"

#include <optional>

namespace passpilot {

/// The functions that a pass of a lower level than the module's may change.
llvm::SmallVector<llvm::Function *, 4> functionsOf(const PassUnit &Unit);

/// The verifier's complaints about \p F or, if it is null, about what the pass
/// of \p Unit may change; empty if there are none.
std::string complaints(const PassUnit &Unit, const llvm::Function *F);

/// Verifies what \p Unit's pass may have changed, if \p Verify, and brings
/// LLVM's structures up to date. Else says what is wrong with the change, and
/// sets \p BrokenIR if the IR is not valid.
std::optional<std::string> settleChange(const PassUnit &Unit, bool Verify,
                                        bool &BrokenIR);

/// After a failure, lets LLVM bring the call graph that it walks up to date all
/// the same: what it cannot take in becomes poison. True if anything did.
bool abandonChange(const PassUnit &Unit);

} // namespace passpilot

#endif
