// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mir2vec.h"

#if PASSPILOT_LLVM_MAJOR >= 22
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;

namespace passpilot {

using mir2vec::MIRVocabulary;

/// Targets share a name or two: x86-64 and AArch64 have a class "CCR".
bool MIR2VecVocabulary::knows(const TargetRegisterInfo &TRI) const {
  const Section &Physical = Sections[2], &Virtual = Sections[3];
  size_t Known = 0;
  for (unsigned Class = 0; Class < TRI.getNumRegClasses(); ++Class) {
    const std::string Name = TRI.getRegClassName(TRI.getRegClass(Class));
    Known += Physical.count(Name) + Virtual.count(Name);
  }
  return Known * 16 >= Physical.size() + Virtual.size();
}

const MIRVocabulary *
MIR2VecVocabulary::ofTarget(const MachineFunction &MF) const {
  const std::lock_guard<std::mutex> Lock(Mutex);
  const auto [Found, IsNew] =
      Made.try_emplace(&MF.getTarget().getTarget(), nullptr);
  const TargetSubtargetInfo &Target = MF.getSubtarget();
  const TargetRegisterInfo &Registers = *Target.getRegisterInfo();
  if (IsNew && knows(Registers)) {
    auto Copies = Sections; // LLVM takes them
    Expected<MIRVocabulary> Vocabulary = MIRVocabulary::create(
        std::move(Copies[0]), std::move(Copies[1]), std::move(Copies[2]),
        std::move(Copies[3]), *Target.getInstrInfo(), Registers,
        MF.getRegInfo());
    if (Vocabulary)
      Found->second = std::make_unique<MIRVocabulary>(std::move(*Vocabulary));
    else
      consumeError(Vocabulary.takeError());
  }
  return Found->second.get();
}

bool MachineEmbedder::enter(const MachineFunction &MF) {
  Function = &MF;
  const MIRVocabulary *Now = Vocabulary->ofTarget(MF);
  if (Now && (Now != Target || Opcodes.empty())) {
    Target = Now;
    readTarget();
  }
  return Now;
}

void MachineEmbedder::readTarget() {
  const TargetSubtargetInfo &Info = Function->getSubtarget();
  const TargetRegisterInfo &TRI = *Info.getRegisterInfo();
  Zero.assign(dimension(), 0);
  Entities.clear();
  for (const ir2vec::Embedding &Each : *Target)
    Entities.push_back(Each.getData().data());
  Opcodes.assign(Info.getInstrInfo()->getNumOpcodes(), nullptr);
  Registers.assign(TRI.getNumRegs(), nullptr);
  OfPhysical.clear();
  OfVirtual.clear();
  for (unsigned Class = 0; Class < TRI.getNumRegClasses(); ++Class) {
    const StringRef Name = TRI.getRegClassName(TRI.getRegClass(Class));
    auto Find = [&](bool IsPhysical) {
      return Entities[Target->getCanonicalIndexForRegisterClass(Name,
                                                                IsPhysical)];
    };
    OfPhysical.push_back(Find(true));
    OfVirtual.push_back(Find(false));
  }
  // LLVM's names are in the order of the types, without that of a register in
  // front and that of debug instructions, which have no vectors.
  OfOperands.fill(Zero.data());
  const unsigned First = Target->getCanonicalIndexForOperandName("Immediate");
  for (unsigned Type = MachineOperand::MO_Immediate;
       Type <= MachineOperand::MO_ShuffleMask; ++Type)
    OfOperands[Type] = Entities[First + Type - MachineOperand::MO_Immediate];
  OfOperands[MachineOperand::MO_LaneMask] =
      Entities[Target->getCanonicalIndexForOperandName("LaneMask")];
}

const double *MachineEmbedder::ofOpcode(unsigned Opcode) {
  const double *&Vector = Opcodes[Opcode];
  if (!Vector) {
    const StringRef Name =
        Function->getSubtarget().getInstrInfo()->getName(Opcode);
    Vector = Entities[Target->getCanonicalIndexForBaseName(
        MIRVocabulary::extractBaseOpcodeName(Name))];
  }
  return Vector;
}

const double *MachineEmbedder::ofRegister(Register Reg) {
  if (Reg.isVirtual())
    return OfVirtual[Function->getRegInfo().getRegClass(Reg)->getID()];
  if (!Reg.isPhysical())
    return Zero.data();
  const double *&Vector = Registers[Reg.id()];
  if (!Vector) {
    const TargetRegisterInfo &TRI = *Function->getSubtarget().getRegisterInfo();
    const TargetRegisterClass *Class =
        TRI.getMinimalPhysRegClass(Reg.asMCReg());
    Vector = Class ? OfPhysical[Class->getID()] : Zero.data();
  }
  return Vector;
}

const double *MachineEmbedder::ofOperand(const MachineOperand &O) {
  return O.isReg() ? ofRegister(O.getReg()) : OfOperands[O.getType()];
}

void MachineEmbedder::add(const MachineInstr &I, double *Sum) {
  if (I.isDebugInstr())
    return;
  const size_t Length = dimension();
  auto Add = [&](const double *Vector) {
    for (size_t E = 0; E < Length; ++E)
      Sum[E] += Vector[E];
  };
  Add(ofOpcode(I.getOpcode()));
  for (const MachineOperand &O : I.operands())
    Add(ofOperand(O));
}

} // namespace passpilot

#endif
