// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "onnx_tensor.h"

#include <optional>

namespace passpilot::onnx {

template <typename T> static double at(const void *Data, size_t I) {
  return static_cast<double>(static_cast<const T *>(Data)[I]);
}

static const TypePair TypePairs[] = {
    {ScalarType::Float, onnx::Float, at<float>},
    {ScalarType::Double, onnx::Double, at<double>},
    {ScalarType::Int8, onnx::Int8, at<int8_t>},
    {ScalarType::UInt8, onnx::UInt8, at<uint8_t>},
    {ScalarType::Int16, onnx::Int16, at<int16_t>},
    {ScalarType::UInt16, onnx::UInt16, at<uint16_t>},
    {ScalarType::Int32, onnx::Int32, at<int32_t>},
    {ScalarType::UInt32, onnx::UInt32, at<uint32_t>},
    {ScalarType::Int64, onnx::Int64, at<int64_t>},
    {ScalarType::UInt64, onnx::UInt64, at<uint64_t>},
};

const TypePair *findOnnx(int Type) {
  for (const TypePair &P : TypePairs)
    if (P.Onnx == Type)
      return &P;
  return nullptr;
}

double load(const void *Data, int Type, size_t I) {
  const TypePair *P = findOnnx(Type);
  return P ? P->At(Data, I) : at<bool>(Data, I); // the one that we lack
}

/// Converts element \p J of \p From to element \p I of a float or double
/// tensor.
void store(void *Data, int Type, size_t I, const void *From,
           ScalarType FromType, size_t J) {
  // We have the types in the order of their numbers.
  const double X = TypePairs[static_cast<int>(FromType) - 1].At(From, J);
  if (Type == onnx::Float)
    static_cast<float *>(Data)[I] = static_cast<float>(X);
  else
    static_cast<double *>(Data)[I] = X;
}

std::string shapeText(const std::vector<int64_t> &Shape) {
  std::string S = "[";
  for (size_t I = 0; I < Shape.size(); ++I)
    S += (I ? "," : "") +
         (Shape[I] < 0 ? std::string("?") : std::to_string(Shape[I]));
  return S + "]";
}

/// The product of the dimensions of \p Shape that are not open; nothing if no
/// size_t holds it.
static std::optional<size_t> product(const std::vector<int64_t> &Shape) {
  size_t Product = 1;
  for (const int64_t D : Shape)
    if (D >= 0 &&
        __builtin_mul_overflow(Product, static_cast<size_t>(D), &Product))
      return std::nullopt;
  return Product;
}

bool closeShape(std::vector<int64_t> &Shape, size_t N) {
  const auto Known = product(Shape);
  int64_t *Open = nullptr;
  for (size_t I = 0; I < Shape.size(); ++I) {
    if (Shape[I] >= 0)
      continue;
    Shape[I] = 1;
    if (I > 0 || Shape.size() == 1)
      Open = &Shape[I];
  }
  if (Open && Known.value_or(0) && N % *Known == 0)
    *Open = static_cast<int64_t>(N / *Known);
  return product(Shape) == N;
}

} // namespace passpilot::onnx
