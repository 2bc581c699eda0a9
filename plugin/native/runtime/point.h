// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A decision point: the tensors that it offers and the domain of its advice.

#pragma once

#include "domain.h"
#include "tensor_spec.h"

namespace passpilot {

struct Point {
  std::string Name;
  std::vector<TensorSpec> Features; ///< the compiler's own
  TensorSpec Default;               ///< the compiler's own decision
  TensorSpec Decision;              ///< the advice
  passpilot::Domain Domain;
};

} // namespace passpilot
