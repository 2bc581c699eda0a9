// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "unwind_row.h"

#include "compat.h"
#include "llvm/BinaryFormat/Dwarf.h"

using namespace llvm;

namespace passpilot {

UnwindRow::UnwindRow(ArrayRef<MCCFIInstruction> Initial) {
  for (const MCCFIInstruction &I : Initial)
    apply(I, UnwindRow());
}

bool UnwindRow::apply(const MCCFIInstruction &I, const UnwindRow &Initial) {
  using CFI = MCCFIInstruction;
  switch (I.getOperation()) {
  case CFI::OpDefCfa:
    F.Register = I.getRegister();
    F.Offset = Written = I.getOffset();
    F.Expression.clear();
    return true;
  case CFI::OpDefCfaRegister:
    F.Register = I.getRegister();
    return F.Expression.empty();
  case CFI::OpDefCfaOffset:
    F.Offset = Written = I.getOffset();
    return F.Expression.empty();
  case CFI::OpAdjustCfaOffset: // from the last one written, not remembered
    F.Offset = Written += I.getOffset();
    return F.Expression.empty();
  case CFI::OpOffset:
  case CFI::OpValOffset:
    F.Saved[I.getRegister()] = {I.getOperation(), I.getOffset(), 0, {}};
    return true;
  case CFI::OpRegister:
    F.Saved[I.getRegister()] = {CFI::OpRegister, 0, I.getRegister2(), {}};
    return true;
  case CFI::OpUndefined:
  case CFI::OpSameValue:
    F.Saved[I.getRegister()] = {I.getOperation(), 0, 0, {}};
    return true;
  case CFI::OpRestore:
    return restoreRegister(I.getRegister(), Initial);
  case CFI::OpRememberState:
    Remembered.push_back(F);
    return true;
  case CFI::OpRestoreState:
    if (Remembered.empty())
      return false;
    F = std::move(Remembered.back());
    Remembered.pop_back();
    return true;
  case CFI::OpNegateRAState:
    F.Signed = !F.Signed;
    return true;
  case CFI::OpGnuArgsSize:
    ArgsSize = I.getOffset();
    return true;
  case CFI::OpEscape:
    return applyEscape(I.getValues());
  default: // a label, a place in code, an address space, SPARC's windows
    return false;
  }
}

bool UnwindRow::restoreRegister(unsigned Register, const UnwindRow &Initial) {
  F.Saved.erase(Register);
  if (const auto Rule = Initial.F.Saved.find(Register);
      Rule != Initial.F.Saved.end())
    F.Saved.insert(*Rule);
  return true;
}

/// Reads one directive in its binary form: LLVM writes expressions so.
bool UnwindRow::applyEscape(StringRef Bytes) {
  const DataExtractor Data = extractorOf(Bytes);
  DataExtractor::Cursor C(0);
  const uint8_t Kind = Data.getU8(C);
  bool Known = true;
  if (Kind == dwarf::DW_CFA_GNU_args_size) {
    ArgsSize = static_cast<int64_t>(Data.getULEB128(C));
  } else if (Kind == dwarf::DW_CFA_def_cfa_expression) {
    Data.skip(C, Data.getULEB128(C));
    F.Expression = Bytes.str();
  } else if (Kind == dwarf::DW_CFA_expression ||
             Kind == dwarf::DW_CFA_val_expression) {
    const auto Register = static_cast<unsigned>(Data.getULEB128(C));
    Data.skip(C, Data.getULEB128(C));
    F.Saved[Register] = {MCCFIInstruction::OpEscape, 0, 0, Bytes.str()};
  } else {
    Known = false;
  }
  const bool Whole = Known && C && Data.eof(C);
  consumeError(C.takeError());
  return Whole;
}

std::vector<MCCFIInstruction> UnwindRow::after(const UnwindRow &Before) const {
  using CFI = MCCFIInstruction;
  std::vector<CFI> All;
  const Frame &B = Before.F;
  if (!F.Expression.empty()) {
    if (F.Expression != B.Expression)
      All.push_back(CFI::createEscape(nullptr, F.Expression));
  } else if (!B.Expression.empty() ||
             (F.Register != B.Register && F.Offset != B.Offset)) {
    All.push_back(CFI::cfiDefCfa(nullptr, F.Register, F.Offset));
  } else if (F.Register != B.Register) {
    All.push_back(CFI::createDefCfaRegister(nullptr, F.Register));
  } else if (F.Offset != B.Offset) {
    All.push_back(CFI::cfiDefCfaOffset(nullptr, F.Offset));
  }
  for (const auto &[Register, R] : F.Saved) {
    if (const auto Found = B.Saved.find(Register);
        Found != B.Saved.end() && Found->second == R)
      continue;
    All.push_back(
        R.Kind == CFI::OpOffset ? CFI::createOffset(nullptr, Register, R.Offset)
        : R.Kind == CFI::OpValOffset
            ? CFI::createValOffset(nullptr, Register, R.Offset)
        : R.Kind == CFI::OpRegister
            ? CFI::createRegister(nullptr, Register, R.Register)
        : R.Kind == CFI::OpUndefined ? CFI::createUndefined(nullptr, Register)
        : R.Kind == CFI::OpSameValue
            ? CFI::createSameValue(nullptr, Register)
            : CFI::createEscape(nullptr, R.Expression));
  }
  for (const auto &[Register, R] : B.Saved)
    if (!F.Saved.count(Register))
      All.push_back(CFI::createRestore(nullptr, Register));
  if (F.Signed != B.Signed)
    All.push_back(CFI::createNegateRAState(nullptr));
  if (ArgsSize != Before.ArgsSize)
    All.push_back(CFI::createGnuArgsSize(nullptr, ArgsSize));
  return All;
}

} // namespace passpilot
