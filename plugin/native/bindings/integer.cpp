// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "integer.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/IR/Constants.h"

namespace passpilot {

nb::object integerOf(const llvm::Value &V) {
  auto *C = llvm::dyn_cast<llvm::ConstantInt>(&V);
  if (!C)
    return nb::none();
  llvm::SmallString<40> Digits;
  C->getValue().toString(Digits, 10,
                         /*Signed=*/C->getBitWidth() > 1); // i1 true is 1
  return nb::steal(PyLong_FromString(Digits.c_str(), nullptr, 10));
}

} // namespace passpilot
