// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What LLVM's loop vectorizer finds out about the loops of a function, and what
// it would do with them. The vectorizer itself works on a copy of the function,
// whose loops are simplified and rotated first, as in LLVM's pipelines.

#pragma once

#include "loop_copy.h"

#include <cstdint>
#include <optional>

namespace passpilot {

/// An innermost loop that LLVM can vectorize or interleave.
struct VectorizableLoop {
  /// What LLVM would choose; 1 and 1 leave the loop as it is.
  unsigned Width = 1, Interleave = 1;
  /// Whether a width above 1 may change results, because floating-point
  /// operations would be done in another order.
  bool Exact = false;
  /// The bits of a vector that dependences between iterations allow.
  std::optional<uint64_t> SafeBits;
  unsigned RegisterBits = 0; ///< of the target's vectors; 0 if it has none
  unsigned NarrowestBits = 0, WidestBits = 0; ///< of loads, stores, reductions
  unsigned Inductions = 0, Reductions = 0, Recurrences = 0;
  /// Pairs of pointers, and assumptions about integers, to check at run time.
  unsigned PointerChecks = 0, Assumptions = 0;
  unsigned MaskedBlocks = 0; ///< blocks that run in some iterations only
  bool EarlyExit = false;    ///< the loop may leave at a data-dependent point
  /// Loads and stores by the distance between iterations.
  unsigned Consecutive = 0, Reversed = 0, Strided = 0, Invariant = 0,
           Irregular = 0;
  uint64_t Bytes = 0; ///< of memory between two iterations

  static std::vector<std::pair<size_t, VectorizableLoop>>
  examine(LoopCopy &Copy);
};

/// What LLVM knows of an innermost loop of a copy, without its choice; nothing
/// if it cannot vectorize the loop.
std::optional<VectorizableLoop> examined(LoopCopy &Copy, llvm::Loop &L);
/// Vectorizes the loops of a copy, and writes LLVM's choices for \p Loops.
void vectorize(
    LoopCopy &Copy,
    llvm::ArrayRef<std::pair<llvm::Loop *, VectorizableLoop *>> Loops);

using VectorizationAnalysis = LoopCopyAnalysis<VectorizableLoop>;

} // namespace passpilot
