// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Maps ONNX's element types and shapes to passpilot's.

#pragma once

#include "onnx_api.h"
#include "tensor_spec.h"

namespace passpilot::onnx {

struct TypePair {
  ScalarType Ours;
  int Onnx;
  double (*At)(const void *Data, size_t I); ///< reads an element
};

/// The entry for ONNX's type \p Type; null if passpilot has no such type.
const TypePair *findOnnx(int Type);

/// Element \p I of a tensor of ONNX's type \p Type, ours or Bool.
double load(const void *Data, int Type, size_t I);

/// Converts element \p J of \p From to element \p I of a float or double
/// tensor.
void store(void *Data, int Type, size_t I, const void *From,
           ScalarType FromType, size_t J);

/// Prints a shape such as "[?,38]"; a question mark is an open dimension.
std::string shapeText(const std::vector<int64_t> &Shape);

/// Sets every open dimension of \p Shape so that it holds \p N elements. If
/// several are open, the first is the batch and becomes 1; the last gets the
/// rest. Returns false if that is impossible.
bool closeShape(std::vector<int64_t> &Shape, size_t N);

} // namespace passpilot::onnx
