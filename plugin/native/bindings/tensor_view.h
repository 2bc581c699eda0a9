// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors as numpy arrays, and one number as a Python object.

#ifndef PASSPILOT_BINDINGS_TENSOR_VIEW_H
#define PASSPILOT_BINDINGS_TENSOR_VIEW_H

#include "../runtime/tensor_spec.h"
#include "nanobind_all.h"

#include <memory>

namespace passpilot {

/// A numpy view of tensor \p I of \p Block, which it keeps alive.
nb::object viewOf(const std::shared_ptr<TensorBlock> &Block, size_t I,
                  bool Writable);
/// A read-only numpy view of the bytes of the tensors [0, Count).
nb::object frameOf(const std::shared_ptr<TensorBlock> &Block, size_t Count);

} // namespace passpilot

#endif
