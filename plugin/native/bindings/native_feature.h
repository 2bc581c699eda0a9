// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A feature that the core computes, as Python holds it.

#pragma once

#include "../runtime/feature_set.h"
#include "nanobind_all.h"

namespace passpilot {

struct NativeFeature {
  std::shared_ptr<const FeatureSet> Set;
  size_t Index; ///< in the set
};

/// The first \p Count features of a set.
std::vector<NativeFeature>
featuresOf(const std::shared_ptr<const FeatureSet> &Set, size_t Count);

} // namespace passpilot
