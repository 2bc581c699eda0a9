// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a policy or a custom feature may ask about a live range beyond LLVM's
// own features. All of it is computed on demand from LLVM's analyses, which it
// does not change.

#ifndef PASSPILOT_LLVM_LIVE_RANGE_H
#define PASSPILOT_LLVM_LIVE_RANGE_H

#include "function_allocation.h"
#include "llvm/CodeGen/LiveInterval.h"
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

/// Starts and ends, in slot index units (16 per instruction).
std::vector<std::pair<int64_t, int64_t>> segments(const FunctionAllocation &F,
                                                  const llvm::LiveInterval &LI);
/// Numbers of the blocks in which the range is live, ascending.
std::vector<int64_t> blocks(const FunctionAllocation &F,
                            const llvm::LiveInterval &LI);
/// The registers that LLVM would like to give the range now, best first.
std::vector<std::string> hints(const FunctionAllocation &F,
                               const llvm::LiveInterval &LI);
/// The register that the range has now; empty for none.
std::string assigned(const FunctionAllocation &F, const llvm::LiveInterval &LI);
bool isLocal(const FunctionAllocation &F, const llvm::LiveInterval &LI);
/// The deepest loop in which the range is defined or used.
unsigned loopDepth(const FunctionAllocation &F, const llvm::LiveInterval &LI);

/// The operands that are the range's register, in the order of LLVM's use list;
/// debug instructions are left out.
std::vector<const llvm::MachineOperand *>
operands(const FunctionAllocation &F, const llvm::LiveInterval &LI);
/// Where the instruction is, in slot index units.
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

#endif
