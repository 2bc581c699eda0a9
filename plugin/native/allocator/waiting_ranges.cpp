// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "waiting_ranges.h"

#include "llvm/CodeGen/LiveIntervals.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/CodeGen/RegisterClassInfo.h"
#include "llvm/CodeGen/SlotIndexes.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"
#include "llvm/CodeGen/VirtRegMap.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace llvm;

namespace passpilot {

/// The priority that LLVM's greedy allocator gives it: short ranges of one
/// block in the order of the code, after all others, the longest first. Ranges
/// that have waited come last.
uint64_t WaitingRanges::priority(const LiveInterval &LI) {
  const TargetRegisterClass &Class = *F.MRI.getRegClass(LI.reg());
  const unsigned Size = LI.getSize();
  const auto Most = static_cast<unsigned>(maxUIntN(24));
  if (Records[LI.reg()].Waited)
    return std::min(Size, Most);
  const bool Reverse = F.TRI.reverseLocalAssignment();
  const bool IsGlobal =
      Class.GlobalPriority || LI.empty() || !F.LIS.intervalIsInOneMBB(LI) ||
      (!Reverse && Size / SlotIndex::InstrDist >
                       2 * F.Classes.getNumAllocatableRegs(&Class));
  SlotIndexes &Indexes = *F.LIS.getSlotIndexes();
  uint64_t Priority = Size;
  if (!IsGlobal && Reverse)
    Priority = Indexes.getZeroIndex().getApproxInstrDistance(LI.endIndex());
  else if (!IsGlobal)
    Priority = LI.beginIndex().getApproxInstrDistance(Indexes.getLastIndex());
  Priority = std::min<uint64_t>(Priority, Most);
  Priority |= uint64_t(IsGlobal) << 29 | uint64_t(Class.AllocationPriority)
                                             << 24;
  return Priority | uint64_t(1) << 31 |
         uint64_t(F.VRM.hasKnownPreference(LI.reg())) << 30;
}

void WaitingRanges::add(Register Reg) {
  if (const auto Known = Priorities.find(Reg); Known != Priorities.end())
    Order.erase({Reg, Known->second});
  const uint64_t Priority = priority(F.LIS.getInterval(Reg));
  Priorities[Reg] = Priority;
  Order.insert({Reg, Priority});
}

void WaitingRanges::remove(const WaitingRange &W) {
  Priorities.erase(W.Reg);
  Order.erase(W);
}

/// Whether it needs a register; an edit may have deleted all its uses.
bool WaitingRanges::stillWaits(Register Reg) {
  if (!F.LIS.hasInterval(Reg) || F.VRM.hasPhys(Reg))
    return false;
  if (!F.MRI.reg_nodbg_empty(Reg))
    return true;
  F.LIS.removeInterval(Reg);
  return false;
}

Register WaitingRanges::take(AllocatorAdvice &Advice) {
  const size_t Most = Advice.asksOrder() ? AllocatorColumns : 1;
  SmallVector<WaitingRange, AllocatorColumns> First;
  for (auto It = Order.begin(); It != Order.end() && First.size() < Most;) {
    const WaitingRange W = *It++;
    if (stillWaits(W.Reg))
      First.push_back(W);
    else
      remove(W);
  }
  if (First.empty())
    return {};
  const WaitingRange Next = First[Advice.order(First, Order.size())];
  remove(Next);
  return Next.Reg;
}

} // namespace passpilot
