// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the user of a stock tool has asked us for: by flags -passpilot-*, which
// the tool parses, or else by the environment, PASSPILOT_*.

#ifndef PASSPILOT_STOCK_FLAGS_H
#define PASSPILOT_STOCK_FLAGS_H

#include "../loaded/advisor.h"
#include "llvm/IR/Module.h"

namespace passpilot {

/// Options as NAME=VALUE, which stand in for the flags -passpilot-NAME.
llvm::Error setOptions(const std::vector<std::string> &Options);

/// What is wrong with the options, wherever they come from.
llvm::Error checkOptions();

/// Whether anybody is to be asked at LLVM's point \p Name.
bool advised(const std::string &Point);

/// How \p Point is advised in the compilation of \p M. False after an error,
/// which is told.
bool advisorOptions(const std::string &Point, const llvm::Module &M,
                    AdvisorOptions &O, Messages &Told);

/// The files to load, separated by colons.
std::string filesToLoad();
/// Extension points, each with a pipeline text.
std::vector<std::pair<std::string, std::string>> textsAt();
/// The points of passes in Python that are advised, each with its runner.
std::vector<std::pair<std::string, std::string>> passPoints();
/// Whether to tell what the advisors did.
bool statsWanted();

} // namespace passpilot

#endif
