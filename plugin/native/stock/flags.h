// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The user's options in a stock tool: flags -passpilot-*, which the tool
// parses, or environment variables PASSPILOT_*.

#pragma once

#include "../loaded/advisor.h"
#include "../loaded/option.h"
#include "stock_policy.h"
#include "llvm/IR/Module.h"

namespace passpilot {

/// Sets options as NAME=VALUE, in place of the flags -passpilot-NAME. Returns
/// those that now hold.
llvm::Expected<Option::Settings>
setOptions(const std::vector<std::string> &Options);

/// Checks the options, from flags and from variables.
llvm::Error checkOptions();

/// Sets LLVM's option -unwind to the value of ours, unless the user has set it.
/// Call this before the policy is checked, which sets it otherwise.
llvm::Error setUnwindTables();

/// Call this when a tool loads us: refuses what cannot work together as soon as
/// the tool has parsed the flags, and calls \p OnFlag for each of them.
void watchFlags(void (*OnFlag)());

/// Whether the options ask for an advisor at LLVM's point \p Point.
bool advised(const std::string &Point);
/// Whether an option for the point does, not only a policy.
bool advisedByChoice(const std::string &Point);
/// Whether a flag for the point does; a variable may be there for another tool.
bool advisedByFlag(const std::string &Point);

/// Whether the options change what the optimizer does.
bool advisesOptimizer();

/// Reads how \p Point is advised in the compilation of \p M, after
/// checkOptions().
AdvisorOptions advisorOptions(const std::string &Point, const llvm::Module &M);

/// The policy; it may be none.
StockPolicy policy();
/// The decision file; empty if there is none.
std::string decisionFile();
/// The profile; empty if there is none.
std::string profileFile();
/// The files to load, separated by colons.
std::string filesToLoad();
/// Pairs of extension point and pipeline text.
std::vector<std::pair<std::string, std::string>> textsAt();
/// The policy's pipeline behind the level's own, unless another option decides
/// what runs there; empty if there is none.
std::string pipelineBehind();
/// Pairs of a Python pass's decision point and its runner.
using PointRunners = std::vector<std::pair<std::string, std::string>>;
PointRunners passPoints();
/// Those of options for the points, without the policy's.
PointRunners advisedPassPoints();
/// A hint at the point whose name is like \p Name; empty if none is.
std::string meantPoint(llvm::StringRef Name);
/// Whether to print the advisors' counts.
bool statsWanted();

} // namespace passpilot
