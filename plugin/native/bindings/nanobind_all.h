// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// nanobind with the type casters of all binding files. Every binding file must
// include this header: casters that differ between files violate the
// one-definition rule.

#ifndef PASSPILOT_BINDINGS_NANOBIND_ALL_H
#define PASSPILOT_BINDINGS_NANOBIND_ALL_H

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;

#endif
