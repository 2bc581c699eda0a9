// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors as numpy arrays, and numbers as Python objects.

#pragma once

#include "../runtime/tensor_spec.h"
#include "nanobind_all.h"

#include <memory>

namespace passpilot {

/// A numpy view of tensor \p I of \p Block; the view keeps the block alive.
nb::object viewOf(const std::shared_ptr<TensorBlock> &Block, size_t I,
                  bool Writable);
/// A read-only numpy view of the bytes of the first \p Count tensors.
nb::object frameOf(const std::shared_ptr<TensorBlock> &Block, size_t Count);

} // namespace passpilot
