// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Integer constants as Python ints.

#pragma once

#include "nanobind_all.h"

namespace llvm {
class Value;
}

namespace passpilot {

/// The value as a signed Python int (i1 true is 1); None if not a constant.
nb::object integerOf(const llvm::Value &V);

} // namespace passpilot
