// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether MLIR's inliner could inline a call, according to the dialects. The
// inliner itself asks them only after the decision.

#pragma once

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
