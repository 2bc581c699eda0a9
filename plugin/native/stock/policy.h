// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The policy of a stock tool: the flag -passpilot-policy, or PASSPILOT_POLICY.

#ifndef PASSPILOT_STOCK_POLICY_H
#define PASSPILOT_STOCK_POLICY_H

#include "../runtime/policy_record.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace passpilot {

/// Reads the policy and sets the options of LLVM's that its recipe has, unless
/// the user has set them.
llvm::Error checkPolicy();
/// Does the same before a code generation; checkPolicy() reports errors.
void preparePolicy();

/// The policy's runner for \p Point; empty if it has none.
std::string policyRunner(llvm::StringRef Point);
/// The points for which it has runners.
std::vector<std::string> policyPoints();
/// The pipeline behind the level's own; empty if there is none.
std::string policyPipeline();
/// The policy and its folder, for messages.
std::string policyName();
/// Why the policy is not for \p M; empty if it is, or if there is no policy.
std::string policyRefusal(const llvm::Module &M);

} // namespace passpilot

#endif
