// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Replacing calls by bodies in the IR of the installed MLIR bindings.

#ifndef PASSPILOT_BINDINGS_MLIR_SPLICE_H
#define PASSPILOT_BINDINGS_MLIR_SPLICE_H

#include "mlir_api.h"

namespace passpilot {

void bindMlirSplice(nb::class_<mlir_api::MLIRApi> &C);

} // namespace passpilot

#endif
