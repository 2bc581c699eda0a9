// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The four decision points of the advised register allocator, and the numbers
// of their features. The Python twin is features/llvm/allocator.py.

#ifndef PASSPILOT_LLVM_ALLOCATOR_POINTS_H
#define PASSPILOT_LLVM_ALLOCATOR_POINTS_H

#include "../runtime/point.h"

namespace passpilot {

/// The columns of the points that choose a live range, a register or a split.
constexpr int64_t AllocatorColumns = 32;

/// The answers of the point "ra-action".
enum class AllocatorAction : int64_t { Assign, Evict, Split, Spill, Wait };
constexpr int64_t AllocatorActions = 5;

enum class OrderFeature : size_t {
  Mask,
  Size,
  Weight,
  IsLocal,
  IsHinted,
  IsSplit,
  HasWaited,
  ClassSize,
  Instructions,
  Priority,
  Waiting
};

enum class ActionFeature : size_t {
  Mask,
  Size,
  Weight,
  IsLocal,
  IsHinted,
  Generation,
  HasWaited,
  Evictions,
  ClassSize,
  Instructions,
  SpillCost,
  FreeRegisters,
  FreeHint,
  EvictableRegisters,
  CheapestEviction,
  Splits,
  SplitGain
};

enum class ColourFeature : size_t {
  Mask,
  IsFree,
  IsHint,
  IsWanted,
  IsCalleeSaved,
  IsInUse,
  EncodingCost,
  Interferences,
  MaxWeight,
  BrokenHints,
  Evicting,
  Size,
  Weight,
  ClassSize
};

enum class SplitFeature : size_t {
  Mask,
  Kind,
  Gain,
  Work,
  CopyCost,
  Copies,
  Instructions,
  Blocks,
  LoopDepth,
  HasFreeRegister,
  Defines,
  Size,
  Weight,
  SpillCost,
  Generation
};

const Point &orderPoint();
const Point &actionPoint();
const Point &colourPoint();
const Point &splitPoint();

} // namespace passpilot

#endif
