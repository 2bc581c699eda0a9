// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The options that the advisors of all our plugins have.

#pragma once

#include "advisor.h"
#include "option.h"

namespace passpilot {

/// One object per plugin, made before the tool parses its command line.
struct AdvisorFlags {
  Option Advise, Log, OnError, Timeout;
  llvm::cl::opt<bool> Stats;

  AdvisorFlags();
  /// Checks the values of these options, and that no option of the plugin is
  /// empty.
  llvm::Error check() const;
  /// Reads the options that all runners have.
  llvm::Error read(AdvisorOptions &O) const;
};

/// Whether logs go into a folder, which a slash at its end makes.
bool isLogFolder(llvm::StringRef Path);

/// The error about a value of \p O that is not POINT=\p Value.
llvm::Error expectPairs(const Option &O, const char *Value);
/// The error about an option that no advisor reads; \p Point has one of its
/// own.
llvm::Error withoutAdvisor(const Option &O, llvm::StringRef Point);

} // namespace passpilot
