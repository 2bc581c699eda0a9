// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Estimated execution frequencies of the blocks of the final machine code.

#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace llvm {
class Pass;
} // namespace llvm

namespace passpilot {

struct BlockFrequencies {
  std::string Function;
  /// Pairs of the block's number (as in assembly labels) and its executions per
  /// execution of the function's entry.
  std::vector<std::pair<int64_t, double>> Blocks;
};

/// A pass that appends each machine function to \p All; must run last, before
/// the code is printed.
llvm::Pass *createBlockFrequenciesPass(std::vector<BlockFrequencies> &All);

} // namespace passpilot
