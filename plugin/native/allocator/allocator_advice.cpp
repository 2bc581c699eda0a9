// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "allocator_advice.h"

#include "../llvm/live_range.h"
#include "../llvm/live_range_question.h"
#include "../llvm/tensors.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/CodeGen/LiveIntervals.h"
#include "llvm/CodeGen/LiveRegMatrix.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/CodeGen/RegisterClassInfo.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"
#include "llvm/CodeGen/VirtRegMap.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace llvm;

namespace passpilot {

bool RangeChoices::allows(AllocatorAction A) const {
  switch (A) {
  case AllocatorAction::Assign:
    return any_of(Registers, [](auto &R) { return R.IsFree; });
  case AllocatorAction::Evict:
    return any_of(Registers, [](auto &R) { return R.Eviction.has_value(); });
  case AllocatorAction::Split:
    return MaySplit && HasRegions;
  case AllocatorAction::Spill:
    return MaySpill;
  case AllocatorAction::Wait:
    return MayWait;
  }
  llvm_unreachable("all are handled");
}

namespace {

/// A spill weight; infinite if the range cannot be spilled.
double weightOf(const LiveInterval &LI) {
  return LI.isSpillable() ? LI.weight()
                          : std::numeric_limits<double>::infinity();
}

} // namespace

bool AllocatorAdvice::readsEvictions() const {
  return readsOfAction(ActionFeature::EvictableRegisters) ||
         readsOfAction(ActionFeature::CheapestEviction);
}

bool AllocatorAdvice::readsRegions() const {
  return readsOfAction(ActionFeature::Splits) ||
         readsOfAction(ActionFeature::SplitGain);
}

bool AllocatorAdvice::readsSpillCost() const {
  return readsOfAction(ActionFeature::SpillCost);
}

size_t AllocatorAdvice::instructions(const LiveInterval &LI) const {
  // LLVM's list has an instruction once for its operands in a row.
  SmallPtrSet<const MachineInstr *, 16> All;
  for (const MachineInstr &I : F.MRI.reg_nodbg_instructions(LI.reg()))
    All.insert(&I);
  return All.size();
}

int64_t AllocatorAdvice::classSize(const LiveInterval &LI) const {
  return F.Classes.getNumAllocatableRegs(F.MRI.getRegClass(LI.reg()));
}

/// The answer to \p Q; the default's if the session has stopped.
static size_t answer(Session &S, AllocatorQuestion &Q, size_t Default) {
  const std::optional<Advice> Answer = S.ask(Q);
  return Answer ? static_cast<size_t>(Answer->Integer) : Default;
}

void AllocatorAdvice::enter(Session &S) {
  if (is_contained(Entered, &S))
    return;
  Entered.push_back(&S);
  S.switchContext(F.MF.getName());
}

static ArrayRef<int64_t> maskOf(Session &S) {
  return {S.mask(), static_cast<size_t>(S.point().Domain.Count)};
}

size_t AllocatorAdvice::order(ArrayRef<WaitingRange> First, size_t Count) {
  if (!asks(Sessions.Order))
    return 0;
  Session &S = *Sessions.Order;
  enter(S);
  using O = OrderFeature;
  Tensors<O> T(S);
  SmallVector<const LiveInterval *, 0> All;
  for (size_t I = 0; I < First.size(); ++I) {
    const LiveInterval &LI = F.LIS.getInterval(First[I].Reg);
    const RangeRecord &Record = Records[First[I].Reg];
    All.push_back(&LI);
    T.set(O::Mask, 1, I);
    if (T.reads(O::Size))
      T.set(O::Size, LI.getSize(), I);
    T.setFloat(O::Weight, weightOf(LI), I);
    if (T.reads(O::IsLocal))
      T.set(O::IsLocal, isLocal(F, LI), I);
    if (T.reads(O::IsHinted))
      T.set(O::IsHinted, F.VRM.hasKnownPreference(LI.reg()), I);
    T.set(O::IsSplit, Record.Generation > 0, I);
    T.set(O::HasWaited, Record.Waited, I);
    if (T.reads(O::ClassSize))
      T.set(O::ClassSize, classSize(LI), I);
    if (T.reads(O::Instructions))
      T.set(O::Instructions, instructions(LI), I);
    T.set(O::Priority, First[I].Priority, I);
  }
  T.set(O::Waiting, Count);
  auto Names = [&] {
    std::vector<std::string> V;
    for (const LiveInterval *LI : All)
      V.push_back(rangeName(LI->reg()));
    return V;
  };
  AllocatorQuestion Q(F, *All.front(), 0, maskOf(S), Names);
  Q.Ranges = All;
  return answer(S, Q, 0);
}

AllocatorAction AllocatorAdvice::action(const RangeChoices &C,
                                        AllocatorAction Default) {
  if (!asks(Sessions.Action))
    return Default;
  Session &S = *Sessions.Action;
  enter(S);
  using A = ActionFeature;
  Tensors<A> T(S);
  const LiveInterval &LI = C.Range;
  for (int64_t I = 0; I < AllocatorActions; ++I)
    T.set(A::Mask, C.allows(static_cast<AllocatorAction>(I)), I);
  if (T.reads(A::Size))
    T.set(A::Size, LI.getSize());
  T.setFloat(A::Weight, weightOf(LI));
  T.set(A::IsLocal, isLocal(F, LI));
  T.set(A::IsHinted, F.VRM.hasKnownPreference(LI.reg()));
  T.set(A::Generation, C.Record.Generation);
  T.set(A::HasWaited, C.Record.Waited);
  T.set(A::Evictions, C.Record.Evictions);
  T.set(A::ClassSize, classSize(LI));
  if (T.reads(A::Instructions))
    T.set(A::Instructions, instructions(LI));
  T.setFloat(A::SpillCost, C.Live ? C.Live->Work : 0);
  int64_t Free = 0, FreeHint = 0, Evictable = 0;
  std::optional<float> Cheapest;
  for (const RegisterChoice &R : C.Registers) {
    Free += R.IsFree;
    FreeHint |= R.IsFree && R.IsHint;
    Evictable += R.Eviction.has_value();
    if (R.Eviction)
      Cheapest = std::min(Cheapest.value_or(R.Eviction->MaxWeight),
                          R.Eviction->MaxWeight);
  }
  T.set(A::FreeRegisters, Free);
  T.set(A::FreeHint, FreeHint);
  T.set(A::EvictableRegisters, Evictable);
  T.setFloat(A::CheapestEviction, Cheapest.value_or(0));
  T.set(A::Splits, C.MaySplit ? C.Regions.size() : 0);
  T.setFloat(A::SplitGain, C.Regions.empty() ? 0 : C.Regions.front().gain());
  auto Names = [] {
    return std::vector<std::string>{"assign", "evict", "split", "spill",
                                    "wait"};
  };
  const auto ByDefault = static_cast<size_t>(Default);
  AllocatorQuestion Q(F, LI, ByDefault, maskOf(S), Names);
  return static_cast<AllocatorAction>(answer(S, Q, ByDefault));
}

size_t AllocatorAdvice::colour(const RangeChoices &C, bool Evicting,
                               size_t Default) {
  if (!asks(Sessions.Colour))
    return Default;
  Session &S = *Sessions.Colour;
  if (C.Registers.size() > AllocatorColumns) {
    ++S.Counts.NotAskable;
    return Default;
  }
  enter(S);
  using Co = ColourFeature;
  Tensors<Co> T(S);
  const ArrayRef<uint8_t> Costs = F.TRI.getRegisterCosts(F.MF);
  for (size_t I = 0; I < C.Registers.size(); ++I) {
    const RegisterChoice &R = C.Registers[I];
    T.set(Co::Mask, Evicting ? R.Eviction.has_value() : R.IsFree, I);
    T.set(Co::IsFree, R.IsFree, I);
    T.set(Co::IsHint, R.IsHint, I);
    T.set(Co::IsWanted, R.Reg == C.Record.Wanted, I);
    T.set(Co::IsCalleeSaved, F.Classes.getLastCalleeSavedAlias(R.Reg).isValid(),
          I);
    if (T.reads(Co::IsInUse))
      T.set(Co::IsInUse, F.Matrix.isPhysRegUsed(R.Reg), I);
    T.set(Co::EncodingCost, Costs[R.Reg.id()], I);
    if (R.Eviction) {
      T.set(Co::Interferences, R.Eviction->Ranges, I);
      T.setFloat(Co::MaxWeight, R.Eviction->MaxWeight, I);
      T.set(Co::BrokenHints, R.Eviction->BrokenHints, I);
    }
  }
  T.set(Co::Evicting, Evicting);
  T.set(Co::Size, C.Range.getSize());
  T.setFloat(Co::Weight, weightOf(C.Range));
  T.set(Co::ClassSize, classSize(C.Range));
  auto Names = [&] {
    std::vector<std::string> V;
    V.reserve(C.Registers.size());
    for (const RegisterChoice &R : C.Registers)
      V.push_back(physicalName(F, R.Reg));
    return V;
  };
  auto Concerned = [&](const LiveInterval &Other, auto Use) {
    for (size_t I = 0; I < C.Registers.size(); ++I)
      eachOverlapping(F, Other, C.Registers[I].Reg, [&](size_t) { Use(I); });
  };
  AllocatorQuestion Q(F, C.Range, Default, maskOf(S), Names);
  Q.Concerned = Concerned;
  return answer(S, Q, Default);
}

size_t AllocatorAdvice::split(const RangeChoices &C) {
  if (!asks(Sessions.Split))
    return 0;
  Session &S = *Sessions.Split;
  enter(S);
  using Sp = SplitFeature;
  Tensors<Sp> T(S);
  for (size_t I = 0; I < C.Regions.size(); ++I) {
    const SplitRegion &R = C.Regions[I];
    T.set(Sp::Mask, 1, I);
    T.set(Sp::Kind, static_cast<int64_t>(R.Kind), I);
    T.setFloat(Sp::Gain, R.gain(), I);
    T.setFloat(Sp::Work, R.Work, I);
    T.setFloat(Sp::CopyCost, R.CopyCost, I);
    T.set(Sp::Copies, R.Copies.size(), I);
    T.set(Sp::Instructions, R.Instructions, I);
    T.set(Sp::Blocks, R.Blocks.count(), I);
    T.set(Sp::LoopDepth, R.LoopDepth, I);
    T.set(Sp::HasFreeRegister, R.Free.isValid(), I);
    T.set(Sp::Defines, R.Defines, I);
  }
  T.set(Sp::Size, C.Range.getSize());
  T.setFloat(Sp::Weight, weightOf(C.Range));
  T.setFloat(Sp::SpillCost, C.Live->Work);
  T.set(Sp::Generation, C.Record.Generation);
  auto Names = [&] {
    std::vector<std::string> V;
    V.reserve(C.Regions.size());
    for (const SplitRegion &R : C.Regions)
      V.push_back(R.name(*C.Live));
    return V;
  };
  auto Concerned = [&](const LiveInterval &Other, auto Use) {
    C.Live->findBlocksOf(Other, BlocksOfOther);
    for (size_t I = 0; I < C.Regions.size(); ++I)
      if (C.Regions[I].overlaps(Other, BlocksOfOther))
        Use(I);
  };
  AllocatorQuestion Q(F, C.Range, 0, maskOf(S), Names);
  Q.Concerned = Concerned;
  return answer(S, Q, 0);
}

} // namespace passpilot
