// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Element types and shapes of ONNX tensors, against passpilot's.

#ifndef PASSPILOT_RUNTIME_ONNX_TENSOR_H
#define PASSPILOT_RUNTIME_ONNX_TENSOR_H

#include "onnx_api.h"
#include "tensor_spec.h"

namespace passpilot::onnx {

struct TypePair {
  ScalarType Ours;
  int Onnx;
};

/// The pair of ONNX's type \p Type; null for those that passpilot has not.
const TypePair *findOnnx(int Type);

/// Element \p I of a tensor of ONNX's type \p Type.
double load(const void *Data, int Type, size_t I);

/// Converts element \p J of \p From to element \p I of a float or double
/// tensor.
void store(void *Data, int Type, size_t I, const void *From,
           ScalarType FromType, size_t J);

/// "[?,38]": open dimensions are question marks.
std::string shapeText(const std::vector<int64_t> &Shape);

/// Gives every open dimension of \p Shape its value so that it holds \p N
/// elements: the last one takes what is left, but the first of several
/// dimensions is the batch, of one. False: it cannot hold them.
bool closeShape(std::vector<int64_t> &Shape, size_t N);

} // namespace passpilot::onnx

#endif
