// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A row of an unwind table: how an unwinder finds the caller's frame at one
// address.

#ifndef PASSPILOT_LLVM_UNWIND_ROW_H
#define PASSPILOT_LLVM_UNWIND_ROW_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/MC/MCDwarf.h"

#include <map>
#include <string>
#include <vector>

namespace passpilot {

/// Registers are DWARF's numbers.
class UnwindRow {
public:
  UnwindRow() = default;
  /// The row at the head of a function, which the common part of the target's
  /// tables gives.
  explicit UnwindRow(llvm::ArrayRef<llvm::MCCFIInstruction> Initial);

  /// Applies a directive. Returns false if it has a meaning that a row cannot
  /// hold; the row is then useless.
  bool apply(const llvm::MCCFIInstruction &I, const UnwindRow &Initial);

  /// The directives that turn \p Written into this row.
  std::vector<llvm::MCCFIInstruction> after(const UnwindRow &Written) const;

private:
  /// Where a register's value is. Equal rules are equal in all members.
  struct Rule {
    llvm::MCCFIInstruction::OpType Kind = llvm::MCCFIInstruction::OpOffset;
    int64_t Offset = 0;
    unsigned Register = 0;  ///< that holds the value
    std::string Expression; ///< the bytes of a whole directive
    bool operator==(const Rule &R) const {
      return Kind == R.Kind && Offset == R.Offset && Register == R.Register &&
             Expression == R.Expression;
    }
  };
  /// What remembered states keep.
  struct Frame {
    unsigned Register = 0; ///< with Offset: the canonical frame address
    int64_t Offset = 0;
    std::string Expression; ///< in place of both, unless empty
    std::map<unsigned, Rule> Saved;
    bool Signed = false; ///< the return address, on AArch64
  };

  Frame F;
  std::vector<Frame> Remembered;
  int64_t Written = 0;  ///< the last offset of a directive, for the next one
  int64_t ArgsSize = 0; ///< bytes that a landing pad takes off the stack

  bool applyEscape(llvm::StringRef Bytes);
  bool restoreRegister(unsigned Register, const UnwindRow &Initial);
};

} // namespace passpilot

#endif
