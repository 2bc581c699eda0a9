// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "live_range_question.h"

#include "live_range.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/CodeGen/LiveInterval.h"

using namespace llvm;

namespace passpilot {

DecisionPlace LiveRangeQuestion::place() {
  Name = rangeName(Range.reg());
  DecisionPlace P;
  P.Register = Name;
  return P;
}

DecisionPlace EvictQuestion::place() {
  DecisionPlace P = LiveRangeQuestion::place();
  Names.clear();
  for (MCRegister R : Registers)
    Names += (Names.empty() ? "" : " ") + physicalName(Function, R);
  P.Registers = Names;
  return P;
}

Advice EvictQuestion::defaultAdvice() { return Advice{column(Default())}; }

void EvictQuestion::answered(Advice A) {
  if (Count && A.Integer != DoNotEvict && Mask[A.Integer])
    Count(A.Integer);
}

int64_t EvictQuestion::column(MCRegister Register) const {
  const auto *Found = find(Registers, Register);
  return Register.isValid() && Found != Registers.end()
             ? Found - Registers.begin()
             : DoNotEvict;
}

std::string EvictQuestion::forbidden(Advice A) {
  const size_t Column = static_cast<size_t>(A.Integer);
  std::string Got = "column " + std::to_string(Column);
  if (Column == DoNotEvict)
    Got += " (do not evict)";
  else if (Column < Registers.size())
    Got += " (" + physicalName(Function, Registers[Column]) + ")";
  std::string Legal;
  for (int64_t I = 0; I < EvictColumns; ++I)
    if (Mask[I])
      Legal += (Legal.empty() ? "" : ", ") + std::to_string(I);
  return "expected a column that the mask allows (" + Legal + "), got " + Got;
}

SmallVector<Ranges, 4> EvictQuestion::unitInterferences(size_t Column) const {
  if (Column >= Registers.size())
    return {};
  return Function.inTheWay(Range, Registers[Column]);
}

Ranges EvictQuestion::interferences(size_t Column) const {
  Ranges All;
  for (const Ranges &Unit : unitInterferences(Column))
    for (const LiveInterval *LI : Unit)
      if (!is_contained(All, LI))
        All.push_back(LI);
  return All;
}

bool PriorityQuestion::nested() const { return Function.nested(Range); }

} // namespace passpilot
