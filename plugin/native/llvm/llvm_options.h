// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM's command-line options, by name.

#ifndef PASSPILOT_LLVM_LLVM_OPTIONS_H
#define PASSPILOT_LLVM_LLVM_OPTIONS_H

#include "llvm/ADT/StringRef.h"

namespace passpilot {

/// The value of a boolean option of LLVM's; false if there is no such option.
bool boolOption(llvm::StringRef Name);

/// Lifts LLVM's process-wide growth limit for ML inlining, which would stop the
/// asking without a word. Advisors keep a budget of their own. A limit that the
/// user gave on the command line stays.
void liftGrowthLimit();

/// Likewise for the limit of evictions per live range: a session keeps its own,
/// which does not count the default's.
void liftEvictionLimit();

/// Takes back what back ends write into process-wide options of LLVM's (PowerPC
/// asks for larger jump tables), so that one compilation does not change the
/// next. To be called before a target machine is made.
void forgetTargets();

} // namespace passpilot

#endif
