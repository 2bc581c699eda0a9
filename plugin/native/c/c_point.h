// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#pragma once

#include "../include/passpilot.h"
#include "../runtime/point.h"

namespace passpilot {

/// Converts the caller's description of a point. Throws std::invalid_argument
/// if the description is wrong.
Point readPoint(const passpilot_point &P);

/// The text that runners/c_api.py reads: a line for the name, one for the
/// domain, then one "SPEC NAME" each for advice, default and features.
std::string describe(const Point &P);

} // namespace passpilot
