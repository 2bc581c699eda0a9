// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "live_range.h"

#include "llvm/CodeGen/LiveRegMatrix.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineLoopInfo.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/CodeGen/RegisterClassInfo.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/CodeGen/VirtRegMap.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>

using namespace llvm;

namespace passpilot {

std::string rangeName(Register Reg) {
  return "%" + std::to_string(Reg.virtRegIndex());
}

std::string className(const FunctionAllocation &F, Register Reg) {
  return StringRef(F.TRI.getRegClassName(F.MRI.getRegClass(Reg))).lower();
}

std::string physicalName(const FunctionAllocation &F, MCRegister Reg) {
  return StringRef(F.TRI.getName(Reg)).lower();
}

std::vector<std::pair<int64_t, int64_t>> segments(const FunctionAllocation &F,
                                                  const LiveInterval &LI) {
  std::vector<std::pair<int64_t, int64_t>> V;
  for (const LiveRange::Segment &S : LI)
    V.emplace_back(position(F, S.start), position(F, S.end));
  return V;
}

std::vector<int64_t> blocks(const FunctionAllocation &F,
                            const LiveInterval &LI) {
  std::vector<int64_t> V;
  for (const LiveRange::Segment &S : LI)
    for (const MachineBasicBlock *B = F.LIS.getMBBFromIndex(S.start);;
         B = B->getNextNode()) {
      V.push_back(B->getNumber());
      if (S.end <= F.LIS.getMBBEndIdx(B))
        break;
    }
  std::sort(V.begin(), V.end());
  V.erase(std::unique(V.begin(), V.end()), V.end());
  return V;
}

std::vector<std::string> hints(const FunctionAllocation &F,
                               const LiveInterval &LI) {
  SmallVector<MCPhysReg, 16> Hints;
  F.TRI.getRegAllocationHints(LI.reg(),
                              F.Classes.getOrder(F.MRI.getRegClass(LI.reg())),
                              Hints, F.MF, &F.VRM, &F.Matrix);
  std::vector<std::string> V;
  for (MCPhysReg Reg : Hints)
    V.push_back(physicalName(F, Reg));
  return V;
}

std::string assigned(const FunctionAllocation &F, const LiveInterval &LI) {
  return F.VRM.hasPhys(LI.reg()) ? physicalName(F, F.VRM.getPhys(LI.reg()))
                                 : "";
}

bool isLocal(const FunctionAllocation &F, const LiveInterval &LI) {
  return F.LIS.intervalIsInOneMBB(LI) != nullptr;
}

unsigned loopDepth(const FunctionAllocation &F, const LiveInterval &LI) {
  unsigned Depth = 0;
  for (const MachineInstr &I : F.MRI.reg_nodbg_instructions(LI.reg()))
    Depth = std::max(Depth, loopDepth(F, *I.getParent()));
  return Depth;
}

std::vector<const MachineOperand *> operands(const FunctionAllocation &F,
                                             const LiveInterval &LI) {
  std::vector<const MachineOperand *> V;
  for (const MachineOperand &O : F.MRI.reg_nodbg_operands(LI.reg()))
    V.push_back(&O);
  return V;
}

int64_t position(const FunctionAllocation &F, const MachineInstr &I) {
  return position(F, F.LIS.getInstructionIndex(I));
}

std::string opcodeName(const FunctionAllocation &F, const MachineInstr &I) {
  return F.MF.getSubtarget().getInstrInfo()->getName(I.getOpcode()).str();
}

double frequency(const FunctionAllocation &F, const MachineBasicBlock &B) {
  return F.Frequencies ? F.Frequencies->getBlockFreqRelativeToEntryBlock(&B)
                       : 0;
}

unsigned loopDepth(const FunctionAllocation &F, const MachineBasicBlock &B) {
  return F.Loops ? F.Loops->getLoopDepth(&B) : 0;
}

std::string printed(const MachineInstr &I) {
  std::string S;
  raw_string_ostream OS(S);
  I.print(OS, /*IsStandalone=*/true, /*SkipOpers=*/false,
          /*SkipDebugLoc=*/false, /*AddNewLine=*/false);
  return S;
}

std::string printed(const MachineFunction &MF) {
  std::string S;
  raw_string_ostream OS(S);
  MF.print(OS);
  return S;
}

} // namespace passpilot
