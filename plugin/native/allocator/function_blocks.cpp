// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "function_blocks.h"

#include "../llvm/live_range.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/CodeGen/EdgeBundles.h"
#include "llvm/CodeGen/LiveIntervals.h"
#include "llvm/CodeGen/MachineFunction.h"

using namespace llvm;

namespace passpilot {

static bool isPinned(const MachineBasicBlock &Block) {
  return any_of(Block.successors(), [](const MachineBasicBlock *S) {
    return S->isEHPad() || S->isInlineAsmBrIndirectTarget();
  });
}

FunctionBlocks::FunctionBlocks(const FunctionAllocation &F,
                               const EdgeBundles &Bundles)
    : BlockNumbers(F.MF.getNumBlockIDs()),
      JunctionNumbers(Bundles.getNumBundles()), Facts(F.MF.getNumBlockIDs()) {
  for (const MachineBasicBlock &B : F.MF) {
    BlockFacts &Its = Facts[static_cast<size_t>(B.getNumber())];
    Its.Frequency = frequency(F, B);
    Its.LoopDepth = loopDepth(F, B);
    Its.Before = Bundles.getBundle(B.getNumber(), false);
    Its.After = Bundles.getBundle(B.getNumber(), true);
    Its.Pinned = isPinned(B);
    if (const auto First = B.getFirstTerminator(); First != B.end())
      Its.Terminator = F.LIS.getInstructionIndex(*First);
  }
}

} // namespace passpilot
