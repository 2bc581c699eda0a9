// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tensor_view.h"

namespace passpilot {

static nb::dlpack::dtype dtypeOf(ScalarType T) {
  switch (T) {
  case ScalarType::Float:
    return nb::dtype<float>();
  case ScalarType::Double:
    return nb::dtype<double>();
  case ScalarType::Int8:
    return nb::dtype<int8_t>();
  case ScalarType::UInt8:
    return nb::dtype<uint8_t>();
  case ScalarType::Int16:
    return nb::dtype<int16_t>();
  case ScalarType::UInt16:
    return nb::dtype<uint16_t>();
  case ScalarType::Int32:
    return nb::dtype<int32_t>();
  case ScalarType::UInt32:
    return nb::dtype<uint32_t>();
  case ScalarType::Int64:
    return nb::dtype<int64_t>();
  case ScalarType::UInt64:
    return nb::dtype<uint64_t>();
  }
  return nb::dtype<int64_t>();
}

static nb::capsule keep(const std::shared_ptr<TensorBlock> &Block) {
  return nb::capsule(new std::shared_ptr<TensorBlock>(Block),
                     [](void *P) noexcept {
                       delete static_cast<std::shared_ptr<TensorBlock> *>(P);
                     });
}

nb::object viewOf(const std::shared_ptr<TensorBlock> &Block, size_t I,
                  bool Writable) {
  const TensorSpec &S = Block->specs()[I];
  std::vector<size_t> Shape(S.Shape.begin(), S.Shape.end());
  void *Data = Block->data(I);
  if (Writable)
    return nb::cast(nb::ndarray<nb::numpy>(Data, Shape.size(), Shape.data(),
                                           keep(Block), nullptr,
                                           dtypeOf(S.Type)));
  return nb::cast(nb::ndarray<nb::numpy, nb::ro>(
      Data, Shape.size(), Shape.data(), keep(Block), nullptr, dtypeOf(S.Type)));
}

nb::object frameOf(const std::shared_ptr<TensorBlock> &Block, size_t Count) {
  const size_t Bytes =
      Count < Block->specs().size() ? Block->offset(Count) : Block->bytes();
  return nb::cast(nb::ndarray<nb::numpy, const uint8_t, nb::ndim<1>>(
      Block->begin(), {Bytes}, keep(Block)));
}

} // namespace passpilot
