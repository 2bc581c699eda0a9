// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensor specs, and the contiguous block that holds a runner's tensors. No LLVM
// types: the C API uses this layer, too.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace passpilot {

/// The scalar types, with the numbers of LLVM's TensorType.
enum class ScalarType : int {
  Float = 1,
  Double,
  Int8,
  UInt8,
  Int16,
  UInt16,
  Int32,
  UInt32,
  Int64,
  UInt64
};

/// Bytes of one scalar.
size_t scalarSize(ScalarType T);
/// LLVM's name of the type in JSON, such as "int64_t".
const char *llvmName(ScalarType T);
/// numpy's name of the type, such as "int64".
const char *numpyName(ScalarType T);

struct TensorSpec {
  std::string Name;
  ScalarType Type = ScalarType::Int64;
  std::vector<int64_t> Shape;

  size_t elements() const;
  size_t bytes() const { return elements() * scalarSize(Type); }
  /// The form in messages, such as "callee_users int64[1]".
  std::string str() const;
  bool operator==(const TensorSpec &O) const {
    return Name == O.Name && Type == O.Type && Shape == O.Shape;
  }
};

/// A block of tensors in the given order, each at a multiple of 8 bytes. It
/// never reallocates: pointers stay valid until the block is destroyed.
class TensorBlock {
public:
  explicit TensorBlock(std::vector<TensorSpec> Specs);
  const std::vector<TensorSpec> &specs() const { return Specs; }
  void *data(size_t I) {
    return reinterpret_cast<char *>(Words.data()) + Offsets[I];
  }
  size_t offset(size_t I) const { return Offsets[I]; }
  char *begin() { return reinterpret_cast<char *>(Words.data()); }
  size_t bytes() const { return Words.size() * sizeof(uint64_t); }

private:
  std::vector<TensorSpec> Specs;
  std::vector<size_t> Offsets;
  std::vector<uint64_t> Words;
};

} // namespace passpilot
