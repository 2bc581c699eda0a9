// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM's decision points: the tensors that LLVM itself computes for each.

#ifndef PASSPILOT_LLVM_POINTS_H
#define PASSPILOT_LLVM_POINTS_H

#include "../runtime/point.h"

namespace passpilot {

const Point &inlinePoint();
const Point &evictPoint();
const Point &priorityPoint();

/// The point of this name; null if there is none.
const Point *findPoint(const std::string &Name);

} // namespace passpilot

#endif
