// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "default_choice.h"

#include "../llvm/live_range.h"
#include "region_finder.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace passpilot {

std::optional<size_t> freeRegister(const RangeChoices &C) {
  std::optional<size_t> First;
  for (const auto &[I, R] : enumerate(C.Registers)) {
    if (!R.IsFree)
      continue;
    if (R.Reg == C.Record.Wanted && !(First && C.Registers[*First].IsHint))
      return I;
    if (!First)
      First = I;
  }
  return First;
}

std::optional<size_t> cheapestEviction(const RangeChoices &C,
                                       bool OnlyIfItPays) {
  std::optional<size_t> Best;
  for (const auto &[I, R] : enumerate(C.Registers)) {
    if (!R.Eviction || (OnlyIfItPays && !R.Eviction->Lighter))
      continue;
    if (Best && !(*R.Eviction < *C.Registers[*Best].Eviction))
      continue;
    Best = I;
    if (R.IsHint)
      break;
  }
  return Best;
}

std::optional<size_t> hintWorthEvicting(const RangeChoices &C) {
  const auto Free = freeRegister(C);
  if (!Free || C.Registers[*Free].IsHint)
    return std::nullopt;
  for (const auto &[I, R] : enumerate(C.Registers))
    if (R.IsHint && R.Eviction && R.Eviction->GivesWayToHint &&
        R.Eviction->BrokenHints == 0)
      return I;
  return std::nullopt;
}

AllocatorAction defaultAction(const RangeChoices &C) {
  using Action = AllocatorAction;
  if (C.allows(Action::Assign))
    return hintWorthEvicting(C) ? Action::Evict : Action::Assign;
  if (!C.Record.Waited && cheapestEviction(C, /*OnlyIfItPays=*/true))
    return Action::Evict;
  if (C.allows(Action::Wait))
    return Action::Wait;
  if (C.MaySplit && !C.Regions.empty() &&
      promise(C.Regions.front(), *C.Live) > 0)
    return Action::Split;
  if (C.allows(Action::Spill))
    return Action::Spill;
  return C.allows(Action::Evict) ? Action::Evict : Action::Split;
}

} // namespace passpilot
