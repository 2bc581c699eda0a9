// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "split_region.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/CodeGen/LiveIntervals.h"
#include "llvm/CodeGen/LiveRangeEdit.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineInstrBuilder.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/CodeGen/VirtRegMap.h"

using namespace llvm;

namespace passpilot {

std::string SplitRegion::name(const LiveBlocks &Live) const {
  static constexpr const char *Names[] = {"loop", "block", "register", "gap"};
  const int Block = Blocks.find_first();
  return std::string(Names[static_cast<size_t>(Kind)]) + ":" +
         std::to_string(Block < 0 ? 0 : Live.All[Block].Block->getNumber());
}

bool SplitRegion::contains(const LiveBlocks &Live, const MachineInstr &I,
                           const LiveIntervals &LIS) const {
  const MachineBasicBlock *B = I.getParent();
  if (!Live.contains(B) || !Blocks[Live.indexOf(B)])
    return false;
  if (!First)
    return true;
  const SlotIndex At = LIS.getInstructionIndex(I);
  return First->Index <= At && At <= Last->Index;
}

bool SplitRegion::overlaps(const LiveInterval &Other,
                           const BitVector &There) const {
  if (First)
    return Other.overlaps(First->Index, Last->Index.getDeadSlot());
  return Blocks.anyCommon(There);
}

static MachineInstr *insertCopy(const FunctionAllocation &F,
                                const RegionCopy &C, Register To,
                                Register From) {
  auto &Block = const_cast<MachineBasicBlock &>(*C.Block);
  auto Beside = [&] {
    return const_cast<MachineInstr *>(C.Beside)->getIterator();
  };
  MachineBasicBlock::iterator At;
  switch (C.Where) {
  case RegionCopy::Place::BlockStart:
    At = Block.SkipPHIsLabelsAndDebug(Block.begin(), To);
    break;
  case RegionCopy::Place::BlockEnd:
    At = Block.getFirstTerminator();
    break;
  case RegionCopy::Place::Before:
    At = Beside();
    break;
  case RegionCopy::Place::After:
    At = std::next(Beside());
    break;
  }
  const TargetInstrInfo &TII = *F.MF.getSubtarget().getInstrInfo();
  const unsigned Opcode = TII.getLiveRangeSplitOpcode(From, F.MF);
  MachineInstr *Copy =
      BuildMI(Block, At, DebugLoc(), TII.get(Opcode), To).addReg(From);
  F.LIS.InsertMachineInstrInMaps(*Copy);
  return Copy;
}

/// Gives the operands of \p Old to \p Inside and \p Outside.
static void rename(const SplitRegion &R, const LiveBlocks &Live,
                   const FunctionAllocation &F, Register Old, Register Inside,
                   Register Outside) {
  SmallVector<MachineOperand *, 16> Operands;
  for (MachineOperand &O : F.MRI.reg_nodbg_operands(Old))
    Operands.push_back(&O);
  for (MachineOperand *O : Operands) {
    O->setReg(R.contains(Live, *O->getParent(), F.LIS) ? Inside : Outside);
    if (O->isUse())
      O->setIsKill(false);
    else
      O->setIsDead(false);
  }
}

/// Computes the live interval of \p Reg; its separate parts get registers of
/// their own.
static void computeInterval(const FunctionAllocation &F, Register Reg,
                            Register Original) {
  if (F.LIS.hasInterval(Reg))
    F.LIS.removeInterval(Reg);
  LiveInterval &LI = F.LIS.createAndComputeVirtRegInterval(Reg);
  SmallVector<LiveInterval *, 4> Parts;
  F.LIS.splitSeparateComponents(LI, Parts);
  for (const LiveInterval *Part : Parts)
    F.VRM.setIsSplitFromReg(Part->reg(), Original);
}

Register splitAt(const SplitRegion &R, const LiveBlocks &Live,
                 const FunctionAllocation &F, LiveRangeEdit &Edit) {
  const Register Old = Edit.getReg();
  const Register Inside = Edit.create(), Outside = Edit.create();
  rename(R, Live, F, Old, Inside, Outside);
  SmallVector<MachineInstr *, 8> Copies;
  for (const RegionCopy &C : R.Copies)
    Copies.push_back(insertCopy(F, C, C.Enters ? Inside : Outside,
                                C.Enters ? Outside : Inside));
  const Register Original = F.VRM.getOriginal(Old);
  computeInterval(F, Inside, Original);
  computeInterval(F, Outside, Original);
  // LLVM's spiller expects copies whose value is not read to be gone.
  SmallVector<MachineInstr *, 8> Dead;
  copy_if(Copies, std::back_inserter(Dead),
          [](const MachineInstr *Copy) { return Copy->allDefsAreDead(); });
  if (!Dead.empty())
    Edit.eliminateDeadDefs(Dead);
  return Inside;
}

} // namespace passpilot
