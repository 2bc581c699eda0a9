// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks at the decision point "schedule": which of the instructions that are
// ready the machine scheduler places next, before register allocation.

#pragma once

#include "../runtime/session.h"
#include "llvm/ADT/ArrayRef.h"

#include <string>

namespace llvm {
class MachineFunction;
class SUnit;
} // namespace llvm

namespace passpilot {

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
