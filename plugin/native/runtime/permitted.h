// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What decision files and policies may name. They are data, so they set only
// options of code generation and run only optimization passes: none of these
// reads or writes a file, prints, or loads or runs code. C++ and Python use
// this one table.

#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace passpilot {

/// The names of LLVM's options that decision files and policies may set.
std::vector<std::string_view> permittedOptions();

/// The names of passes, LLVM's and ours, that they may run.
std::vector<std::string_view> permittedPasses();

/// Permits a pass of the user's, in this process: the user has loaded its code.
void permitPass(std::string Name);

/// Whether \p Text, as NAME or NAME=VALUE, sets a permitted option.
bool isPermittedOption(std::string_view Text);

/// NAME=VALUES, as a message says it, if \p Text sets a permitted option to a
/// value that LLVM does not take; else empty.
std::string expectedValue(std::string_view Text);

/// The names in \p Pipeline that are no permitted passes, in their order.
std::vector<std::string> otherPasses(std::string_view Pipeline);

/// The levels that a pipeline may have. LLVM's parser calls itself for each:
/// a hundred thousand would overflow the stack.
inline constexpr unsigned MostLevels = 64;
inline constexpr const char *TooDeep = "more than 64 levels of passes";
bool isTooDeep(std::string_view Pipeline);

/// Whether \p Text says where unwind tables are exact: a value of the option
/// "unwind", which the pass in ../llvm/unwind_tables.h reads.
bool isUnwindMode(std::string_view Text);

/// The values, for messages.
inline constexpr const char *ExpectedUnwind =
    "full, faults, shared, linked, calls, exceptions or none";

/// What an error expects in place of other options and other passes.
inline constexpr const char *ExpectedOption =
    "an option of code generation that decision files and policies may set";
inline constexpr const char *ExpectedPass =
    "an optimization pass of LLVM's, or a pass of a --load file";

} // namespace passpilot
