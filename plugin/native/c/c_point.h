// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef PASSPILOT_C_C_POINT_H
#define PASSPILOT_C_C_POINT_H

#include "../include/passpilot.h"
#include "../runtime/point.h"

namespace passpilot {

/// The point that the caller describes. Throws std::invalid_argument where the
/// description is wrong.
Point readPoint(const passpilot_point &P);

/// The point as runners/c_api.py reads it: lines of its name, its domain, and
/// one for each tensor, "SPEC NAME": the advice, the default, the features.
std::string describe(const Point &P);

} // namespace passpilot

#endif
