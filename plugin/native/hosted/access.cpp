// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "access.h"

using namespace llvm;

namespace passpilot {

PassAccess::PassAccess(HostedModule &H)
    : H(H), Outer(std::exchange(H.Pass, this)), WholeModule(true) {}

PassAccess::PassAccess(HostedModule &H, ArrayRef<Function *> Functions)
    : H(H), Outer(std::exchange(H.Pass, this)),
      Functions(Functions.begin(), Functions.end()) {}

PassAccess::PassAccess(HostedModule &H, LoopStandardAnalysisResults &Results,
                       Function &F)
    : PassAccess(H, &F) {
  LoopResults = &Results;
}

PassAccess::~PassAccess() {
  H.Pass = Outer;
  H.forgetAnalyses(); // LLVM goes on to change what they are about
}

void PassAccess::noteChange(Change C) {
  Changed = true;
  auto Kept = PreservedAnalyses::none();
  if (C == Change::Instructions)
    Kept.preserveSet<CFGAnalyses>();
  Preserved.intersect(Kept);
}

} // namespace passpilot
