// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether MLIR's inliner, told to inline a call, would do so: what the dialects
// say of it. The inliner itself asks them only after the decision.

#ifndef PASSPILOT_MLIR_LEGALITY_H
#define PASSPILOT_MLIR_LEGALITY_H

#include "inline_point.h"

#include "mlir/Transforms/InliningUtils.h"

namespace passpilot {

class Legality {
public:
  explicit Legality(mlir::MLIRContext *Context) : Dialects(Context) {}

  bool allows(MLIRCallSite &Site);

private:
  mlir::InlinerInterface Dialects;

  bool takes(mlir::Region *Place, mlir::Region *Body, mlir::IRMapping &Map);
};

} // namespace passpilot

#endif
