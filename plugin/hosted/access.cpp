// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "access.h"

#include "module.h"

using namespace llvm;

namespace passpilot {

PassAccess::PassAccess(HostedModule &H, ModuleAnalysisManager &MAM)
    : FAM(&MAM.getResult<FunctionAnalysisManagerModuleProxy>(H.module())
               .getManager()),
      H(H), Outer(std::exchange(H.Pass, this)), WholeModule(true) {}

PassAccess::PassAccess(HostedModule &H, FunctionAnalysisManager &FAM,
                       ArrayRef<Function *> Functions)
    : FAM(&FAM), H(H), Outer(std::exchange(H.Pass, this)),
      Functions(Functions.begin(), Functions.end()) {}

PassAccess::PassAccess(HostedModule &H, LoopStandardAnalysisResults &Results,
                       Function &F)
    : LoopResults(&Results), H(H), Outer(std::exchange(H.Pass, this)) {
  Functions.insert(&F);
}

PassAccess::~PassAccess() { H.Pass = Outer; }

} // namespace passpilot
