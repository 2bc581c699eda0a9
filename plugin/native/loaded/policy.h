// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The policies of a foreign compiler's process: from their records, or from
// Python, which prepares a policy once per machine.

#pragma once

#include "../runtime/policy_record.h"

#include "message.h"

namespace passpilot {

/// The policy that \p Spec names, whatever its query is; the process keeps it.
/// Returns null after an error, which it adds to \p Report.
const PolicyRecord *policyOf(const std::string &Spec, Messages &Report);

} // namespace passpilot
