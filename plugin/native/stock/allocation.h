// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef PASSPILOT_STOCK_ALLOCATION_H
#define PASSPILOT_STOCK_ALLOCATION_H

namespace passpilot {

/// Lets this process's code generators ask the advisors of the options.
void registerAllocation();

} // namespace passpilot

#endif
