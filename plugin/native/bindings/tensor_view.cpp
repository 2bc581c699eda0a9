// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tensor_view.h"

namespace passpilot {

static nb::dlpack::dtype dtypeOf(ScalarType T) {
  using Code = nb::dlpack::dtype_code;
  const char Kind = *numpyName(T); // of float32, int8, uint8, ...
  const Code C = Kind == 'f'   ? Code::Float
                 : Kind == 'u' ? Code::UInt
                               : Code::Int;
  return {static_cast<uint8_t>(C), static_cast<uint8_t>(8 * scalarSize(T)), 1};
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
