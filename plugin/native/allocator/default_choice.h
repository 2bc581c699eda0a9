// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the advised allocator does where no runner decides.

#pragma once

#include "allocator_advice.h"

namespace passpilot {

/// The action for a range, one of those that \p C allows.
AllocatorAction defaultAction(const RangeChoices &C);

/// The index of the free register that the default takes, or of the one that is
/// cheapest to evict others from; nothing if there is none.
std::optional<size_t> freeRegister(const RangeChoices &C);
std::optional<size_t> cheapestEviction(const RangeChoices &C,
                                       bool OnlyIfItPays);
/// A hinted register that others give way from; nothing if a hint is free.
std::optional<size_t> hintWorthEvicting(const RangeChoices &C);

} // namespace passpilot
