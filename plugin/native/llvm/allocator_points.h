// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The four decision points of the advised register allocator, and that of the
// machine scheduler. The Python twins are features/llvm/allocator.py and
// schedule.py.

#pragma once

#include "../runtime/point.h"

namespace passpilot {

/// The columns of the points that choose a live range, a register, a split or
/// an instruction.
constexpr int64_t AllocatorColumns = 32;

/// The answers of the point "ra-action".
enum class AllocatorAction : int64_t { Assign, Evict, Split, Spill, Wait };
constexpr int64_t AllocatorActions = 5;

// The features of the points, the mask first: each one's name here, its name in
// its point, its type, and the number of its columns.
#define PASSPILOT_ORDER_FEATURES(FEATURE)                                      \
  FEATURE(Mask, mask, Int64, AllocatorColumns)                                 \
  FEATURE(Size, size, Int64, AllocatorColumns)                                 \
  FEATURE(Weight, weight, Float, AllocatorColumns)                             \
  FEATURE(IsLocal, is_local, Int64, AllocatorColumns)                          \
  FEATURE(IsHinted, is_hinted, Int64, AllocatorColumns)                        \
  FEATURE(IsSplit, is_split, Int64, AllocatorColumns)                          \
  FEATURE(HasWaited, has_waited, Int64, AllocatorColumns)                      \
  FEATURE(ClassSize, class_size, Int64, AllocatorColumns)                      \
  FEATURE(Instructions, instructions, Int64, AllocatorColumns)                 \
  FEATURE(Priority, priority, Int64, AllocatorColumns)                         \
  FEATURE(Waiting, waiting, Int64, 1)

#define PASSPILOT_ACTION_FEATURES(FEATURE)                                     \
  FEATURE(Mask, mask, Int64, AllocatorActions)                                 \
  FEATURE(Size, size, Int64, 1)                                                \
  FEATURE(Weight, weight, Float, 1)                                            \
  FEATURE(IsLocal, is_local, Int64, 1)                                         \
  FEATURE(IsHinted, is_hinted, Int64, 1)                                       \
  FEATURE(Generation, generation, Int64, 1)                                    \
  FEATURE(HasWaited, has_waited, Int64, 1)                                     \
  FEATURE(Evictions, evictions, Int64, 1)                                      \
  FEATURE(ClassSize, class_size, Int64, 1)                                     \
  FEATURE(Instructions, instructions, Int64, 1)                                \
  FEATURE(SpillCost, spill_cost, Float, 1)                                     \
  FEATURE(FreeRegisters, free_registers, Int64, 1)                             \
  FEATURE(FreeHint, free_hint, Int64, 1)                                       \
  FEATURE(EvictableRegisters, evictable_registers, Int64, 1)                   \
  FEATURE(CheapestEviction, cheapest_eviction, Float, 1)                       \
  FEATURE(Splits, splits, Int64, 1)                                            \
  FEATURE(SplitGain, split_gain, Float, 1)

#define PASSPILOT_COLOUR_FEATURES(FEATURE)                                     \
  FEATURE(Mask, mask, Int64, AllocatorColumns)                                 \
  FEATURE(IsFree, is_free, Int64, AllocatorColumns)                            \
  FEATURE(IsHint, is_hint, Int64, AllocatorColumns)                            \
  FEATURE(IsWanted, is_wanted, Int64, AllocatorColumns)                        \
  FEATURE(IsCalleeSaved, is_callee_saved, Int64, AllocatorColumns)             \
  FEATURE(IsInUse, is_in_use, Int64, AllocatorColumns)                         \
  FEATURE(EncodingCost, encoding_cost, Int64, AllocatorColumns)                \
  FEATURE(Interferences, interferences, Int64, AllocatorColumns)               \
  FEATURE(MaxWeight, max_weight, Float, AllocatorColumns)                      \
  FEATURE(BrokenHints, broken_hints, Int64, AllocatorColumns)                  \
  FEATURE(Evicting, evicting, Int64, 1)                                        \
  FEATURE(Size, size, Int64, 1)                                                \
  FEATURE(Weight, weight, Float, 1)                                            \
  FEATURE(ClassSize, class_size, Int64, 1)

#define PASSPILOT_SPLIT_FEATURES(FEATURE)                                      \
  FEATURE(Mask, mask, Int64, AllocatorColumns)                                 \
  FEATURE(Kind, kind, Int64, AllocatorColumns)                                 \
  FEATURE(Gain, gain, Float, AllocatorColumns)                                 \
  FEATURE(Work, work, Float, AllocatorColumns)                                 \
  FEATURE(CopyCost, copy_cost, Float, AllocatorColumns)                        \
  FEATURE(Copies, copies, Int64, AllocatorColumns)                             \
  FEATURE(Instructions, instructions, Int64, AllocatorColumns)                 \
  FEATURE(Blocks, blocks, Int64, AllocatorColumns)                             \
  FEATURE(LoopDepth, loop_depth, Int64, AllocatorColumns)                      \
  FEATURE(HasFreeRegister, has_free_register, Int64, AllocatorColumns)         \
  FEATURE(Defines, defines, Int64, AllocatorColumns)                           \
  FEATURE(Size, size, Int64, 1)                                                \
  FEATURE(Weight, weight, Float, 1)                                            \
  FEATURE(SpillCost, spill_cost, Float, 1)                                     \
  FEATURE(Generation, generation, Int64, 1)

#define PASSPILOT_SCHEDULE_FEATURES(FEATURE)                                   \
  FEATURE(Mask, mask, Int64, AllocatorColumns)                                 \
  FEATURE(Order, order, Int64, AllocatorColumns)                               \
  FEATURE(Depth, depth, Int64, AllocatorColumns)                               \
  FEATURE(Height, height, Int64, AllocatorColumns)                             \
  FEATURE(Latency, latency, Int64, AllocatorColumns)                           \
  FEATURE(Stall, stall, Int64, AllocatorColumns)                               \
  FEATURE(Predecessors, predecessors, Int64, AllocatorColumns)                 \
  FEATURE(Successors, successors, Int64, AllocatorColumns)                     \
  FEATURE(Freed, freed, Int64, AllocatorColumns)                               \
  FEATURE(ExcessPressure, excess_pressure, Int64, AllocatorColumns)            \
  FEATURE(CriticalPressure, critical_pressure, Int64, AllocatorColumns)        \
  FEATURE(MaxPressure, max_pressure, Int64, AllocatorColumns)                  \
  FEATURE(IsCopy, is_copy, Int64, AllocatorColumns)                            \
  FEATURE(IsLoad, is_load, Int64, AllocatorColumns)                            \
  FEATURE(IsStore, is_store, Int64, AllocatorColumns)                          \
  FEATURE(IsClustered, is_clustered, Int64, AllocatorColumns)                  \
  FEATURE(FromTop, from_top, Int64, 1)                                         \
  FEATURE(Cycle, cycle, Int64, 1)                                              \
  FEATURE(ResourceLimited, resource_limited, Int64, 1)                         \
  FEATURE(Remaining, remaining, Int64, 1)                                      \
  FEATURE(LoopDepth, loop_depth, Int64, 1)

#define PASSPILOT_NAME(Name, ...) Name,
enum class OrderFeature : size_t { PASSPILOT_ORDER_FEATURES(PASSPILOT_NAME) };
enum class ActionFeature : size_t { PASSPILOT_ACTION_FEATURES(PASSPILOT_NAME) };
enum class ColourFeature : size_t { PASSPILOT_COLOUR_FEATURES(PASSPILOT_NAME) };
enum class SplitFeature : size_t { PASSPILOT_SPLIT_FEATURES(PASSPILOT_NAME) };
enum class ScheduleFeature : size_t {
  PASSPILOT_SCHEDULE_FEATURES(PASSPILOT_NAME)
};
#undef PASSPILOT_NAME

const Point &orderPoint();
const Point &actionPoint();
const Point &colourPoint();
const Point &splitPoint();
const Point &schedulePoint();

} // namespace passpilot
