// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An advice as a Python policy returns it.

#pragma once

#include "../runtime/point.h"

#include <Python.h>

namespace passpilot {

/// Reads what a policy returned: an int or a one-element numpy integer; for a
/// Flag also a bool, for a Number also a float. Returns false for anything
/// else. An integer too large for int64 becomes one outside of every domain.
/// GIL: held.
bool readAdvice(PyObject *Value, const Domain &D, Advice &Answer);

} // namespace passpilot
