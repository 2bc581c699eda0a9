// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Integer constants as Python ints.

#ifndef PASSPILOT_BINDINGS_INTEGER_H
#define PASSPILOT_BINDINGS_INTEGER_H

#include "nanobind_all.h"

namespace llvm {
class Value;
}

namespace passpilot {

/// An integer constant as Python has it: signed, and i1 true as 1; else None.
nb::object integerOf(const llvm::Value &V);

} // namespace passpilot

#endif
