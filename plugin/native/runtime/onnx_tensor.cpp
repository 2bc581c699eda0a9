// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "onnx_tensor.h"

namespace passpilot::onnx {

static const TypePair TypePairs[] = {
    {ScalarType::Float, onnx::Float}, {ScalarType::Double, onnx::Double},
    {ScalarType::Int8, onnx::Int8},   {ScalarType::UInt8, onnx::UInt8},
    {ScalarType::Int16, onnx::Int16}, {ScalarType::UInt16, onnx::UInt16},
    {ScalarType::Int32, onnx::Int32}, {ScalarType::UInt32, onnx::UInt32},
    {ScalarType::Int64, onnx::Int64}, {ScalarType::UInt64, onnx::UInt64},
};

const TypePair *findOnnx(int Type) {
  for (const TypePair &P : TypePairs)
    if (P.Onnx == Type)
      return &P;
  return nullptr;
}

double load(const void *Data, int Type, size_t I) {
  switch (Type) {
  case onnx::Float:
    return static_cast<const float *>(Data)[I];
  case onnx::Double:
    return static_cast<const double *>(Data)[I];
  case onnx::Int8:
    return static_cast<const int8_t *>(Data)[I];
  case onnx::UInt8:
    return static_cast<const uint8_t *>(Data)[I];
  case onnx::Bool:
    return static_cast<const bool *>(Data)[I];
  case onnx::Int16:
    return static_cast<const int16_t *>(Data)[I];
  case onnx::UInt16:
    return static_cast<const uint16_t *>(Data)[I];
  case onnx::Int32:
    return static_cast<const int32_t *>(Data)[I];
  case onnx::UInt32:
    return static_cast<const uint32_t *>(Data)[I];
  case onnx::UInt64:
    return static_cast<double>(static_cast<const uint64_t *>(Data)[I]);
  default:
    return static_cast<double>(static_cast<const int64_t *>(Data)[I]);
  }
}

static int onnxType(ScalarType T) {
  for (const TypePair &P : TypePairs)
    if (P.Ours == T)
      return P.Onnx;
  return onnx::Int64;
}

/// Converts element \p J of \p From to element \p I of a float or double
/// tensor.
void store(void *Data, int Type, size_t I, const void *From,
           ScalarType FromType, size_t J) {
  const double X =
      FromType == ScalarType::Int64
          ? static_cast<double>(static_cast<const int64_t *>(From)[J])
          : load(From, onnxType(FromType), J);
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

bool closeShape(std::vector<int64_t> &Shape, size_t N) {
  size_t Known = 1;
  int64_t *Open = nullptr;
  for (size_t I = 0; I < Shape.size(); ++I) {
    if (Shape[I] >= 0) {
      Known *= static_cast<size_t>(Shape[I]);
      continue;
    }
    Shape[I] = 1;
    if (I > 0 || Shape.size() == 1)
      Open = &Shape[I];
  }
  if (Open && Known && N % Known == 0)
    *Open = static_cast<int64_t>(N / Known);
  size_t Total = 1;
  for (int64_t D : Shape)
    Total *= static_cast<size_t>(D);
  return Total == N;
}

} // namespace passpilot::onnx
