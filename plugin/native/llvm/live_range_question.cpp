// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "live_range_question.h"

#include "live_range.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/CodeGen/LiveInterval.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"
#include "llvm/CodeGen/VirtRegMap.h"

using namespace llvm;

namespace passpilot {

DecisionPlace LiveRangeQuestion::place() {
  Name = rangeName(Range.reg());
  DecisionPlace P;
  P.Register = Name;
  return P;
}

void LiveRangeQuestion::eachColumn(const LiveInterval &, ColumnUse) const {}

void eachOverlapping(const FunctionAllocation &F, const LiveInterval &LI,
                     ArrayRef<MCRegister> Registers,
                     LiveRangeQuestion::ColumnUse Use) {
  if (!F.VRM.hasPhys(LI.reg()))
    return;
  const MCRegister Has = F.VRM.getPhys(LI.reg());
  for (size_t I = 0; I < Registers.size(); ++I)
    if (F.TRI.regsOverlap(Registers[I], Has))
      Use(I);
}

void EvictQuestion::eachColumn(const LiveInterval &LI, ColumnUse Use) const {
  if (&LI == &Range)
    Use(DoNotEvict);
  else
    eachOverlapping(Function, LI, Registers, Use);
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

/// The error about a column that the mask forbids; \p Name may be empty.
static std::string forbiddenColumn(ArrayRef<int64_t> Mask, size_t Column,
                                   const std::string &Name) {
  std::vector<std::string> Legal;
  for (size_t I = 0; I < Mask.size(); ++I)
    if (Mask[I])
      Legal.push_back(std::to_string(I));
  return "expected a column that the mask allows (" + join(Legal, ", ") +
         "), got column " + std::to_string(Column) +
         (Name.empty() ? "" : " (" + Name + ")");
}

std::string EvictQuestion::forbidden(Advice A) {
  const auto Column = static_cast<size_t>(A.Integer);
  return forbiddenColumn(ArrayRef(Mask, EvictColumns), Column,
                         Column == DoNotEvict ? "do not evict"
                         : Column < Registers.size()
                             ? physicalName(Function, Registers[Column])
                             : "");
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

void AllocatorQuestion::eachRange(RangeUse Use) const {
  if (Ranges.empty())
    return LiveRangeQuestion::eachRange(Use);
  for (const LiveInterval *LI : Ranges)
    Use(*LI);
}

void AllocatorQuestion::eachColumn(const LiveInterval &LI,
                                   ColumnUse Use) const {
  if (const auto *Found = find(Ranges, &LI); Found != Ranges.end())
    Use(Found - Ranges.begin());
  else if (Concerned)
    Concerned(LI, Use);
}

const std::vector<std::string> &AllocatorQuestion::names() {
  if (Names.empty())
    Names = Make();
  return Names;
}

DecisionPlace AllocatorQuestion::place() {
  DecisionPlace P = LiveRangeQuestion::place();
  if (Joined.empty())
    Joined = join(names(), " ");
  P.Registers = Joined;
  return P;
}

std::string AllocatorQuestion::forbidden(Advice A) {
  const auto Column = static_cast<size_t>(A.Integer);
  return forbiddenColumn(Mask, Column,
                         Column < names().size() ? names()[Column] : "");
}

} // namespace passpilot
