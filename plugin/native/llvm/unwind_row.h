// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A row of an unwind table: how an unwinder finds the caller's frame at one
// address.

#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/MC/MCDwarf.h"

#include <map>
#include <string>
#include <tuple>
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

  /// An order in which equal rows are neighbours.
  bool operator<(const UnwindRow &R) const {
    return std::tie(F, ArgsSize) < std::tie(R.F, R.ArgsSize);
  }

private:
  /// Where a register's value is. Equal rules are equal in all members.
  struct Rule {
    llvm::MCCFIInstruction::OpType Kind = llvm::MCCFIInstruction::OpOffset;
    int64_t Offset = 0;
    unsigned Register = 0;  ///< that holds the value
    std::string Expression; ///< the bytes of a whole directive
    auto key() const { return std::tie(Kind, Offset, Register, Expression); }
    bool operator==(const Rule &R) const { return key() == R.key(); }
    bool operator<(const Rule &R) const { return key() < R.key(); }
  };
  /// What remembered states keep.
  struct Frame {
    unsigned Register = 0; ///< with Offset: the canonical frame address
    int64_t Offset = 0;
    std::string Expression; ///< in place of both, unless empty
    std::map<unsigned, Rule> Saved;
    bool Signed = false; ///< the return address, on AArch64
    auto key() const {
      return std::tie(Saved, Register, Offset, Expression, Signed);
    }
    bool operator<(const Frame &R) const { return key() < R.key(); }
  };

  Frame F;
  std::vector<Frame> Remembered;
  int64_t Written = 0;  ///< the last offset of a directive, for the next one
  int64_t ArgsSize = 0; ///< bytes that a landing pad takes off the stack

  bool applyEscape(llvm::StringRef Bytes);
  bool restoreRegister(unsigned Register, const UnwindRow &Initial);
};

} // namespace passpilot
