// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What policies and custom features may ask about a live range beyond LLVM's
// own features. Everything is computed on demand from LLVM's analyses, without
// changing them.

#pragma once

#include "function_allocation.h"
#include "llvm/CodeGen/LiveInterval.h"
#include "llvm/CodeGen/LiveIntervals.h"
#include "llvm/CodeGen/MachineInstr.h"

#include <string>
#include <utility>
#include <vector>

namespace passpilot {

/// "%12".
std::string rangeName(llvm::Register Reg);
/// "gr64".
std::string className(const FunctionAllocation &F, llvm::Register Reg);
/// "rax": the target's name in lower case.
std::string physicalName(const FunctionAllocation &F, llvm::MCRegister Reg);

/// The (start, end) pairs, in slot index units (16 per instruction).
std::vector<std::pair<int64_t, int64_t>> segments(const FunctionAllocation &F,
                                                  const llvm::LiveInterval &LI);
/// The numbers of the blocks in which the range is live, ascending.
std::vector<int64_t> blocks(const FunctionAllocation &F,
                            const llvm::LiveInterval &LI);
/// The registers that LLVM prefers for the range now, best first.
std::vector<std::string> hints(const FunctionAllocation &F,
                               const llvm::LiveInterval &LI);
/// The range's current register; empty for none.
std::string assigned(const FunctionAllocation &F, const llvm::LiveInterval &LI);
bool isLocal(const FunctionAllocation &F, const llvm::LiveInterval &LI);
/// The depth of the deepest loop that defines or uses the range.
unsigned loopDepth(const FunctionAllocation &F, const llvm::LiveInterval &LI);

/// The operands that are the range's register, in the order of LLVM's use list,
/// without debug instructions.
std::vector<const llvm::MachineOperand *>
operands(const FunctionAllocation &F, const llvm::LiveInterval &LI);
/// The position in the function, in slot index units.
inline int position(const FunctionAllocation &F, llvm::SlotIndex I) {
  return F.LIS.getSlotIndexes()->getZeroIndex().distance(I);
}
int64_t position(const FunctionAllocation &F, const llvm::MachineInstr &I);
std::string opcodeName(const FunctionAllocation &F,
                       const llvm::MachineInstr &I);
/// Executions of the block per execution of the function's entry.
double frequency(const FunctionAllocation &F, const llvm::MachineBasicBlock &B);
unsigned loopDepth(const FunctionAllocation &F,
                   const llvm::MachineBasicBlock &B);
std::string printed(const llvm::MachineInstr &I);
std::string printed(const llvm::MachineFunction &MF);

} // namespace passpilot
