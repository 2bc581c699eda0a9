// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The decision point "schedule": which of the instructions that are ready the
// machine scheduler places next, before register allocation. The Python twin
// is features/llvm/schedule.py.

#pragma once

#include "../runtime/session.h"
#include "llvm/ADT/ArrayRef.h"

#include <string>

namespace llvm {
class MachineFunction;
class SUnit;
} // namespace llvm

namespace passpilot {

/// The columns of the point.
constexpr int64_t ScheduleColumns = 32;

// The features, the mask first, as those of the allocator's points.
#define PASSPILOT_SCHEDULE_FEATURES(FEATURE)                                   \
  FEATURE(Mask, mask, Int64, ScheduleColumns)                                  \
  FEATURE(Order, order, Int64, ScheduleColumns)                                \
  FEATURE(Depth, depth, Int64, ScheduleColumns)                                \
  FEATURE(Height, height, Int64, ScheduleColumns)                              \
  FEATURE(Latency, latency, Int64, ScheduleColumns)                            \
  FEATURE(Stall, stall, Int64, ScheduleColumns)                                \
  FEATURE(Predecessors, predecessors, Int64, ScheduleColumns)                  \
  FEATURE(Successors, successors, Int64, ScheduleColumns)                      \
  FEATURE(Freed, freed, Int64, ScheduleColumns)                                \
  FEATURE(ExcessPressure, excess_pressure, Int64, ScheduleColumns)             \
  FEATURE(CriticalPressure, critical_pressure, Int64, ScheduleColumns)         \
  FEATURE(MaxPressure, max_pressure, Int64, ScheduleColumns)                   \
  FEATURE(IsCopy, is_copy, Int64, ScheduleColumns)                             \
  FEATURE(IsLoad, is_load, Int64, ScheduleColumns)                             \
  FEATURE(IsStore, is_store, Int64, ScheduleColumns)                           \
  FEATURE(IsClustered, is_clustered, Int64, ScheduleColumns)                   \
  FEATURE(FromTop, from_top, Int64, 1)                                         \
  FEATURE(Cycle, cycle, Int64, 1)                                              \
  FEATURE(ResourceLimited, resource_limited, Int64, 1)                         \
  FEATURE(Remaining, remaining, Int64, 1)                                      \
  FEATURE(LoopDepth, loop_depth, Int64, 1)

#define PASSPILOT_NAME(Name, ...) Name,
enum class ScheduleFeature : size_t {
  PASSPILOT_SCHEDULE_FEATURES(PASSPILOT_NAME)
};
#undef PASSPILOT_NAME

const Point &schedulePoint();

/// Which of the ready instructions is next.
class ScheduleQuestion final : public Question {
public:
  ScheduleQuestion(const llvm::MachineFunction &MF,
                   llvm::ArrayRef<llvm::SUnit *> Columns, size_t Default,
                   bool FromTop)
      : MF(MF), Columns(Columns), FromTop(FromTop), Default(Default) {}
  const llvm::MachineFunction &MF;
  const llvm::ArrayRef<llvm::SUnit *> Columns;
  const bool FromTop; ///< forward from the region's first instruction

  Advice defaultAdvice() override {
    return Advice{static_cast<int64_t>(Default)};
  }
  /// Names the block, and the opcodes of the columns.
  DecisionPlace place() override;
  std::string forbidden(Advice A) override;
  /// "%bb.2.loop"
  std::string block() const;
  std::string opcode(size_t Column) const;

private:
  const size_t Default;
  std::string Block, Opcodes;
};

/// Lets LLVM's machine scheduler ask a session of this code generation, unless
/// the user has chosen another scheduler by -misched. Process-wide: without a
/// session, the target's own scheduler works as always.
void useAdvisedScheduler();

} // namespace passpilot
