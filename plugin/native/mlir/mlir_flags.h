// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tool's flags that begin with --passpilot, which advise all passes.

#pragma once

#include "../loaded/advisor.h"

#include <optional>

namespace passpilot {

/// A decision point that a flag names, and how it is advised.
struct Advised {
  std::string Point;
  AdvisorOptions Options;
};

/// The points that the flags name. Returns nothing after an error, added to
/// \p Report: flags that contradict each other.
std::optional<std::vector<Advised>> advisedPoints(Messages &Report);

/// Whether the flags name a decision point, or have options for one.
bool advises();

bool statsWanted();

} // namespace passpilot
