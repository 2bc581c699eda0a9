// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "legality.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace passpilot {

/// Whether legality may depend on the call's operands, as affine's does.
static bool isAffine(const Contents &Body, Operation *Around) {
  return Body.OfDialect[0] ||
         Around->getName().getDialectNamespace() == StringRef(MLIRDialects[0]);
}

bool Legality::allows(MLIRCallSite &Site) {
  Operation *Call = Site.Call;
  if (!Dialects.isLegalToInline(Call, Site.Callee.Function,
                                /*wouldBeCloned=*/true))
    return false;
  Operation *Around = Call->getParentOp();
  Contents &Callee = Site.Callee.Contents;
  if (Callee.Fits == Around->getName())
    return true;
  auto Callable = cast<CallableOpInterface>(Site.Callee.Function);
  Region *Body = Callable.getCallableRegion();
  IRMapping Map;
  for (auto [Parameter, Argument] :
       llvm::zip(Body->getArguments(), Site.Call.getArgOperands()))
    Map.map(Parameter, Argument);
  Region *Place = Call->getParentRegion();
  if (!Dialects.isLegalToInline(Place, Body, /*wouldBeCloned=*/true, Map) ||
      !takes(Place, Body, Map))
    return false;
  if (!isAffine(Callee, Around))
    Callee.Fits = Around->getName();
  return true;
}

/// Whether every operation of \p Body is legal in \p Place.
bool Legality::takes(Region *Place, Region *Body, IRMapping &Map) {
  for (Operation &Op : Body->getOps()) {
    if (!Dialects.isLegalToInline(&Op, Place, /*wouldBeCloned=*/true, Map))
      return false;
    if (Dialects.shouldAnalyzeRecursively(&Op))
      for (Region &Inner : Op.getRegions())
        if (!takes(Place, &Inner, Map))
          return false;
  }
  return true;
}

} // namespace passpilot
