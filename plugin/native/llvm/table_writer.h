// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes a function's unwind table again: rows only where the program can stop.

#pragma once

#include "unwind_row.h"

#include "llvm/CodeGen/MachineFunction.h"

#include <optional>
#include <utility>
#include <vector>

namespace passpilot {

/// One function's directives: all are removed, and the rows that they describe
/// are written again where the program can stop.
class TableWriter {
public:
  /// \p Faults: rows are right also at instructions that can fault, not only at
  /// calls.
  TableWriter(llvm::MachineFunction &MF, bool Faults);

  /// Finds the directives to write behind the row \p Before. Returns false if
  /// there is a directive that no row can hold, or one of inline assembly; then
  /// do not write().
  bool follow(const UnwindRow &Before);
  /// Returns whether the function has changed.
  bool write();

  /// The row at the head of a function.
  const UnwindRow Initial;
  /// The row where the program can stop first; nothing if it cannot.
  std::optional<UnwindRow> First;
  /// The last row that write() leaves.
  UnwindRow Last;

private:
  llvm::MachineFunction &MF;
  const bool Faults;
  const llvm::TargetInstrInfo &TII;
  const llvm::TargetRegisterInfo &TRI;
  const llvm::Register SP;
  const bool IsX86;
  /// Instructions where the program can stop, and the directives before them.
  std::vector<
      std::pair<llvm::MachineInstr *, std::vector<llvm::MCCFIInstruction>>>
      Places;
  std::vector<llvm::MachineInstr *> Replaced;

  bool stops(const llvm::MachineInstr &I) const;
  bool becomesSeveral(const llvm::MachineInstr &I) const;
  bool canFault(const llvm::MachineInstr &I) const;
  bool probes(const llvm::MachineInstr &I) const;
};

} // namespace passpilot
