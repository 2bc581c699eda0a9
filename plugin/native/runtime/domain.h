// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The domain of a decision point's advice. Every answer is checked against it
// before it is used.

#pragma once

#include <cstdint>
#include <string>

namespace passpilot {

/// An advice: int64 or double, as the decision point's spec says.
union Advice {
  int64_t Integer;
  double Number;
};
static_assert(sizeof(Advice) == 8, "runners write eight bytes");

enum class DomainKind {
  Flag,   ///< 0 or 1
  Choice, ///< one of Count columns that the mask allows
  Number  ///< finite, between Low and High
};

struct Domain {
  DomainKind Kind = DomainKind::Flag;
  int64_t Count = 2;
  std::string Mask; ///< of a Choice: the name of the tensor int64[1, Count]
  double Low = 0, High = 0;

  /// Whether \p A is one of the answers that expected() describes.
  bool inRange(Advice A) const;
  /// \p MaskData is the mask's buffer; only a Choice reads it.
  bool allows(Advice A, const int64_t *MaskData) const;
  /// "0 or 1", "an integer of 0 to 32", "a number of 0 to 4294967295".
  std::string expected() const;
  std::string text(Advice A) const;
  bool same(Advice A, Advice B) const;
};

} // namespace passpilot
