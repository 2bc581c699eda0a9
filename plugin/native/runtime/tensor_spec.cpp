// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tensor_spec.h"

namespace passpilot {

namespace {
struct TypeRow {
  size_t Size;
  const char *LLVM;
  const char *Numpy;
};
const TypeRow Types[] = {
    {4, "float", "float32"}, {8, "double", "float64"},
    {1, "int8_t", "int8"},   {1, "uint8_t", "uint8"},
    {2, "int16_t", "int16"}, {2, "uint16_t", "uint16"},
    {4, "int32_t", "int32"}, {4, "uint32_t", "uint32"},
    {8, "int64_t", "int64"}, {8, "uint64_t", "uint64"},
};
const TypeRow &row(ScalarType T) { return Types[static_cast<int>(T) - 1]; }
} // namespace

size_t scalarSize(ScalarType T) { return row(T).Size; }
const char *llvmName(ScalarType T) { return row(T).LLVM; }
const char *numpyName(ScalarType T) { return row(T).Numpy; }

size_t TensorSpec::elements() const {
  size_t N = 1;
  for (int64_t D : Shape)
    N *= static_cast<size_t>(D);
  return N;
}

std::string TensorSpec::str() const {
  std::string S = Name + " " + numpyName(Type) + "[";
  for (size_t I = 0; I < Shape.size(); ++I)
    S += (I ? "," : "") + std::to_string(Shape[I]);
  return S + "]";
}

TensorBlock::TensorBlock(std::vector<TensorSpec> S) : Specs(std::move(S)) {
  size_t Words64 = 0;
  for (const TensorSpec &Spec : Specs) {
    Offsets.push_back(Words64 * sizeof(uint64_t));
    Words64 += (Spec.bytes() + sizeof(uint64_t) - 1) / sizeof(uint64_t);
  }
  Words.assign(Words64, 0);
}

} // namespace passpilot
