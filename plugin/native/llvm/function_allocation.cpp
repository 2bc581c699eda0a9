// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "function_allocation.h"

#include "llvm/CodeGen/LiveIntervalUnion.h"
#include "llvm/CodeGen/LiveRegMatrix.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"

using namespace llvm;

namespace passpilot {

SmallVector<Ranges, 4> FunctionAllocation::inTheWay(const LiveInterval &LI,
                                                    MCRegister Reg) const {
  SmallVector<Ranges, 4> Units;
  // Queries of our own: LLVM's keep what they found for its later use.
  LiveIntervalUnion *Unions = Matrix.getLiveUnions();
  for (MCRegUnit Unit : TRI.regunits(Reg)) {
    LiveIntervalUnion::Query Q(LI, Unions[static_cast<unsigned>(Unit)]);
    const auto &Found = Q.interferingVRegs();
    Units.emplace_back(Found.begin(), Found.end());
  }
  return Units;
}

} // namespace passpilot
