// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What LLVM's loop distribution would make of the loops of a function, tried
// out on a copy.

#pragma once

#include "loop_copy.h"

namespace passpilot {

/// An innermost loop that LLVM can distribute.
struct DistributableLoop {
  /// Dependences between loads and stores; those that may point backward
  /// forbid to vectorize the loop.
  unsigned Dependences = 0, Backward = 0;
  unsigned Parts = 0; ///< the loops that it becomes
  /// The parts that LLVM can vectorize, and those that it would vectorize.
  unsigned Vectorizable = 0, Vectorized = 0;
  /// The instructions of the loop, and of all parts together.
  unsigned Before = 0, After = 0;
  /// Whether the parts run only if a check of pointers and numbers before them
  /// allows it.
  bool Checked = false;

  static std::vector<std::pair<size_t, DistributableLoop>>
  examine(LoopCopy &Copy);
};

using DistributionAnalysis = LoopCopyAnalysis<DistributableLoop>;

} // namespace passpilot
