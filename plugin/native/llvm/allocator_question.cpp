// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "allocator_question.h"

#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace passpilot {

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
  std::vector<std::string> Legal;
  for (size_t I = 0; I < Mask.size(); ++I)
    if (Mask[I])
      Legal.push_back(std::to_string(I));
  std::string Got = "column " + std::to_string(Column);
  if (Column < names().size())
    Got += " (" + names()[Column] + ")";
  return "expected a column that the mask allows (" + join(Legal, ", ") +
         "), got " + Got;
}

} // namespace passpilot
