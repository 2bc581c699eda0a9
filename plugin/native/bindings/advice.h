// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An advice as a Python policy returns it.

#ifndef PASSPILOT_BINDINGS_ADVICE_H
#define PASSPILOT_BINDINGS_ADVICE_H

#include "../runtime/point.h"

#include <Python.h>

namespace passpilot {

/// Reads what a policy returned: an int, or a numpy integer of one element; a
/// bool for a Flag; for a Number also a float. False: it is none of these. An
/// integer too large for the type becomes one that no domain has. GIL: held.
bool readAdvice(PyObject *Value, const Domain &D, Advice &Answer);

} // namespace passpilot

#endif
