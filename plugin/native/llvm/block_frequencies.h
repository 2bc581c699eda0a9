// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How often the blocks of the final machine code run, by LLVM's estimate.

#ifndef PASSPILOT_LLVM_BLOCK_FREQUENCIES_H
#define PASSPILOT_LLVM_BLOCK_FREQUENCIES_H

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
  /// Block number, as in the labels of the assembly, and executions per
  /// execution of the function's entry.
  std::vector<std::pair<int64_t, double>> Blocks;
};

/// A pass that adds each machine function to \p All; to be run last before
/// code is printed.
llvm::Pass *createBlockFrequenciesPass(std::vector<BlockFrequencies> &All);

} // namespace passpilot

#endif
