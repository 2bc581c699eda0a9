// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "domain.h"

#include <cstdio>

namespace passpilot {

bool Domain::inRange(Advice A) const {
  if (Kind == DomainKind::Number)
    return A.Number >= Low && A.Number <= High; // false for NaN
  return A.Integer >= 0 && A.Integer < Count;
}

bool Domain::allows(Advice A, const int64_t *MaskData) const {
  return inRange(A) && (Kind != DomainKind::Choice || MaskData[A.Integer]);
}

static std::string number(double X) {
  char Text[32];
  std::snprintf(Text, sizeof Text, "%.17g", X);
  return Text;
}

std::string Domain::expected() const {
  switch (Kind) {
  case DomainKind::Flag:
    return "0 or 1";
  case DomainKind::Choice:
    return "an integer of 0 to " + std::to_string(Count - 1);
  case DomainKind::Number:
    return "a number of " + number(Low) + " to " + number(High);
  }
  return "";
}

std::string Domain::text(Advice A) const {
  return Kind == DomainKind::Number ? number(A.Number)
                                    : std::to_string(A.Integer);
}

bool Domain::same(Advice A, Advice B) const {
  return Kind == DomainKind::Number ? A.Number == B.Number
                                    : A.Integer == B.Integer;
}

} // namespace passpilot
