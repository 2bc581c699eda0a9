// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "wasm_ifs.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/MachineInstrBuilder.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetPassConfig.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/PassRegistry.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Target/RegisterTargetPassConfigCallback.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;

namespace passpilot {

namespace {

cl::opt<bool>
    Writes("write-wasm-ifs",
           cl::desc("On wasm, write if and else in place of blocks that begin "
                    "with a conditional branch to their end"));

constexpr int64_t NoResult = 0x40; ///< the type of a block

/// LLVM's headers with the numbers of opcodes are private; names are not.
class Opcodes {
public:
  explicit Opcodes(const TargetInstrInfo &TII) : TII(TII) {
    for (unsigned Number = 0; Number != TII.getNumOpcodes(); ++Number)
      Numbers[TII.getName(Number)] = Number;
    Block = number("BLOCK");
    Loop = number("LOOP");
    If = number("IF");
    Else = number("ELSE");
    EndBlock = number("END_BLOCK");
    EndLoop = number("END_LOOP");
    EndIf = number("END_IF");
    Br = number("BR");
    BrIf = number("BR_IF");
    Not = number("EQZ_I32");
    for (const StringRef Type : {"_I32", "_I64", "_F32", "_F64"})
      pair("EQ", "NE", Type);
    for (const StringRef Type : {"_S_I32", "_S_I64", "_U_I32", "_U_I64"}) {
      pair("LT", "GE", Type);
      pair("GT", "LE", Type);
    }
  }

  const MCInstrDesc &desc(unsigned Opcode) const { return TII.get(Opcode); }
  bool opens(const MachineInstr &I) const {
    return is_contained({Block, Loop, If}, I.getOpcode());
  }
  bool closes(const MachineInstr &I) const {
    return is_contained({EndBlock, EndLoop, EndIf}, I.getOpcode());
  }
  /// Whether a function with this instruction is left alone: exceptions have
  /// constructs of their own, and inline assembly may have any.
  bool unknown(const MachineInstr &I) const {
    const StringRef Name = TII.getName(I.getOpcode());
    return I.isInlineAsm() || Name.contains("TRY") || Name.contains("CATCH") ||
           Name == "DELEGATE" || Name == "RETHROW";
  }
  bool isTable(const MachineInstr &I) const {
    return TII.getName(I.getOpcode()).starts_with("BR_TABLE");
  }

  unsigned Block, Loop, If, Else, EndBlock, EndLoop, EndIf, Br, BrIf, Not;
  DenseMap<unsigned, unsigned> Inverse; ///< of comparisons

private:
  const TargetInstrInfo &TII;
  StringMap<unsigned> Numbers;

  unsigned number(StringRef Name) const { return Numbers.at(Name); }
  void pair(StringRef One, StringRef Other, StringRef Type) {
    const unsigned A = number((One + Type).str());
    const unsigned B = number((Other + Type).str());
    Inverse[A] = B;
    Inverse[B] = A;
  }
};

/// A function after LLVM has placed blocks and loops. The order of its
/// instructions is final, and a branch names a construct around it by depth: 0
/// is the innermost. Values on the operand stack never live across a branch.
class Body {
public:
  Body(MachineFunction &MF, const Opcodes &Codes) : MF(MF), Codes(Codes) {}

  bool change() {
    for (MachineBasicBlock &Block : MF)
      for (MachineInstr &I : Block)
        if (!I.isDebugInstr() && Codes.unknown(I))
          return false;
    SmallVector<MachineInstr *, 16> Open, Blocks;
    for (MachineBasicBlock &Block : MF)
      for (MachineInstr &I : Block) {
        if (Codes.opens(I))
          Open.push_back(&I);
        else if (Codes.closes(I))
          End[Open.pop_back_val()] = &I;
        if (I.getOpcode() == Codes.Block && isVoid(I))
          Blocks.push_back(&I);
      }
    bool Changed = false;
    for (MachineInstr *&Block : reverse(Blocks)) // the inner ones first
      if (MachineInstr *If = asIf(*Block)) {
        Changed = true;
        Block = nullptr;
        asBranch(*If);
      }
    for (MachineInstr *Block : reverse(Blocks))
      if (Block)
        asIfElse(*Block);
    return Changed;
  }

private:
  MachineFunction &MF;
  const Opcodes &Codes;
  DenseMap<MachineInstr *, MachineInstr *> End; ///< by what begins
  DenseSet<MachineInstr *> WithElse;

  static bool isVoid(const MachineInstr &I) {
    return I.getOperand(0).isImm() && I.getOperand(0).getImm() == NoResult;
  }

  /// The instruction behind \p I that is no debug instruction, or none.
  static MachineInstr *next(const MachineInstr &I) { return step(I, true); }
  static MachineInstr *previous(const MachineInstr &I) {
    return step(I, false);
  }
  static MachineInstr *step(const MachineInstr &From, bool Forwards) {
    const MachineBasicBlock *Block = From.getParent();
    const MachineInstr *I = Forwards ? From.getNextNode() : From.getPrevNode();
    for (;;) {
      for (; I; I = Forwards ? I->getNextNode() : I->getPrevNode())
        if (!I->isDebugInstr())
          return const_cast<MachineInstr *>(I);
      Block = Forwards ? Block->getNextNode() : Block->getPrevNode();
      if (!Block)
        return nullptr;
      if (!Block->empty())
        I = Forwards ? &Block->front() : &Block->back();
    }
  }

  /// The depths that a branch names.
  SmallVector<MachineOperand *, 4> depths(MachineInstr &I) const {
    if (I.getOpcode() == Codes.Br || I.getOpcode() == Codes.BrIf)
      return {&I.getOperand(0)};
    SmallVector<MachineOperand *, 4> Found;
    if (Codes.isTable(I))
      for (MachineOperand &Operand : I.explicit_operands())
        if (Operand.isImm())
          Found.push_back(&Operand);
    return Found;
  }

  static void lower(MachineOperand &Depth, int64_t By) {
    Depth.setImm(Depth.getImm() - By);
  }

  /// Replaces a block and the first branch to its end by an `if`. Before that
  /// branch may be code without control flow, conditional branches out of the
  /// block, and beginnings of inner blocks, which move into the `if`.
  MachineInstr *asIf(MachineInstr &Block) {
    SmallVector<MachineInstr *, 4> Inner;
    SmallVector<std::pair<MachineOperand *, int64_t>, 4> Others;
    MachineInstr *I = next(Block);
    for (;; I = next(*I)) {
      if (!I || Codes.closes(*I) || Codes.isTable(*I) ||
          is_contained({Codes.Br, Codes.Loop, Codes.If}, I->getOpcode()))
        return nullptr;
      if (I->getOpcode() == Codes.Block)
        Inner.push_back(I);
      if (I->getOpcode() != Codes.BrIf)
        continue;
      const int64_t Depth = I->getOperand(0).getImm();
      const int64_t Own = Inner.size();
      if (Depth == Own)
        break;
      if (Depth < Own)
        return nullptr;
      Others.emplace_back(&I->getOperand(0), Own + 1);
    }
    for (const auto &[Depth, By] : Others)
      lower(*Depth, By);
    MachineInstr *If = inverted(*I);
    for (MachineInstr *Begin : reverse(Inner))
      If->getParent()->splice(std::next(If->getIterator()), Begin->getParent(),
                              Begin->getIterator());
    begin(*If, Block);
    return If;
  }

  /// \p If begins what \p Block began.
  void begin(MachineInstr &If, MachineInstr &Block) {
    MachineInstr *Last = End.lookup(&Block);
    End.erase(&Block);
    Last->setDesc(Codes.desc(Codes.EndIf));
    End[&If] = Last;
    Block.eraseFromParent();
  }

  /// Replaces a branch by an `if` with the opposite condition.
  MachineInstr *inverted(MachineInstr &Branch) {
    MachineBasicBlock &Parent = *Branch.getParent();
    Register Condition = Branch.getOperand(1).getReg();
    MachineInstr *Last = Branch.getPrevNode();
    const bool Here = Last && !Last->isDebugInstr() &&
                      Last->getNumExplicitDefs() == 1 &&
                      Last->getOperand(0).getReg() == Condition;
    if (Here && Last->getOpcode() == Codes.Not) {
      Condition = Last->getOperand(1).getReg();
      Last->eraseFromParent();
    } else if (const unsigned Other =
                   Here ? Codes.Inverse.lookup(Last->getOpcode()) : 0) {
      Last->setDesc(Codes.desc(Other));
    } else {
      BuildMI(Parent, Branch, Branch.getDebugLoc(), Codes.desc(Codes.Not),
              Condition)
          .addReg(Condition);
    }
    MachineInstr *If =
        BuildMI(Parent, Branch, Branch.getDebugLoc(), Codes.desc(Codes.If))
            .addImm(NoResult)
            .addReg(Condition);
    Branch.eraseFromParent();
    return If;
  }

  /// Replaces an `if` that holds nothing but a branch by a conditional branch.
  void asBranch(MachineInstr &If) {
    MachineInstr *Jump = next(If);
    if (Jump->getOpcode() != Codes.Br || next(*Jump) != End[&If] ||
        Jump->getOperand(0).getImm() == 0)
      return;
    BuildMI(*If.getParent(), If, If.getDebugLoc(), Codes.desc(Codes.BrIf))
        .addImm(Jump->getOperand(0).getImm() - 1)
        .addReg(If.getOperand(1).getReg());
    End[&If]->eraseFromParent();
    End.erase(&If);
    Jump->eraseFromParent();
    If.eraseFromParent();
  }

  /// Replaces a block by an `else` where the block begins with an `if` whose
  /// last instruction is a branch to the block's end.
  void asIfElse(MachineInstr &Block) {
    SmallVector<MachineOperand *, 4> Outer;
    MachineInstr *If = next(Block);
    for (; If->getOpcode() != Codes.If; If = next(*If)) {
      if (Codes.opens(*If) || Codes.closes(*If) || Codes.isTable(*If) ||
          If->getOpcode() == Codes.Br)
        return;
      for (MachineOperand *Depth : depths(*If)) {
        if (Depth->getImm() == 0)
          return;
        Outer.push_back(Depth);
      }
    }
    MachineInstr *Middle = End[If];
    MachineInstr *Jump = previous(*Middle);
    if (Jump->getOpcode() != Codes.Br || Jump->getOperand(0).getImm() != 1 ||
        WithElse.contains(If))
      return;
    int64_t Inside = 0;
    for (MachineInstr *I = next(*If); I != Middle; I = next(*I)) {
      Inside += Codes.opens(*I) - Codes.closes(*I);
      for (MachineOperand *Depth : depths(*I)) {
        if (Depth->getImm() == Inside)
          return; // it jumps to what becomes `else`
        if (Depth->getImm() > Inside)
          Outer.push_back(Depth);
      }
    }
    for (MachineOperand *Depth : Outer)
      lower(*Depth, 1);
    Jump->eraseFromParent();
    begin(*If, Block);
    if (next(*Middle) == End[If]) {
      Middle->eraseFromParent();
      return;
    }
    Middle->setDesc(Codes.desc(Codes.Else));
    WithElse.insert(If);
  }
};

/// Runs after all other changes of a function.
class WasmIfs final : public MachineFunctionPass {
public:
  static char ID;
  WasmIfs() : MachineFunctionPass(ID) {}
  StringRef getPassName() const override { return "WebAssembly Ifs"; }
  bool runOnMachineFunction(MachineFunction &MF) override {
    if (!Writes || skipFunction(MF.getFunction()))
      return false;
    if (!Codes)
      Codes.emplace(*MF.getSubtarget().getInstrInfo());
    return Body(MF, *Codes).change();
  }

private:
  std::optional<Opcodes> Codes;
};

char WasmIfs::ID = 0;

const RegisterPass<WasmIfs> Registered("wasm-ifs", "WebAssembly Ifs");

void insert(TargetMachine &TM, PassManagerBase &, TargetPassConfig *C) {
  const PassInfo *Last = PassRegistry::getPassRegistry()->getPassInfo(
      StringRef("wasm-debug-fixup"));
  if (TM.getTargetTriple().isWasm() && Last)
    C->insertPass(Last->getTypeInfo(), &WasmIfs::ID);
}

} // namespace

void registerWasmIfs() {
  static const RegisterTargetPassConfigCallback Callback(insert);
}

} // namespace passpilot
