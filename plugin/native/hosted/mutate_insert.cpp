// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mutations.h"

#include "../llvm/call_site.h"

#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/EHPersonalities.h"
#include "llvm/IR/Operator.h"

using namespace llvm;

namespace passpilot {

namespace {

/// The checked position and operands of a new instruction.
class Insertion {
public:
  Insertion(HostedModule &H, Instruction &Pos, const char *What,
            ArrayRef<Value *> Operands)
      : H(H), Pos(Pos), What(What) {
    checkMayChange(H, Pos.getFunction(), Extent::Instructions, What);
    checkPosition(Pos, What);
    for (Value *V : Operands)
      checkOperand(H, *V, Pos, What);
  }

  [[noreturn]] void fail(const std::string &Expected,
                         const std::string &Got) const {
    refuse(What, Pos.getFunction(), Expected, Got);
  }

  Instruction &put(Instruction *I, const std::string &Name) const {
    I->insertBefore(Pos.getIterator());
    I->setDebugLoc(location());
    if (!I->getType()->isVoidTy())
      I->setName(Name);
    H.changed(*Pos.getFunction());
    return *I;
  }

private:
  /// The position's debug location. A call of a function with debug information
  /// must have one.
  DebugLoc location() const {
    if (DebugLoc L = Pos.getDebugLoc())
      return L;
    DISubprogram *P = Pos.getFunction()->getSubprogram();
    return P ? DebugLoc(DILocation::get(P->getContext(), 0, 0, P)) : DebugLoc();
  }

  HostedModule &H;
  Instruction &Pos;
  const char *What;
};

/// The opcode named \p Name in [Begin, End).
std::optional<unsigned> opcodeOf(StringRef Name, unsigned Begin, unsigned End) {
  for (unsigned Op = Begin; Op < End; ++Op)
    if (Name == Instruction::getOpcodeName(Op))
      return Op;
  return std::nullopt;
}

std::optional<CmpInst::Predicate> predicateOf(StringRef Name, bool Float) {
  const unsigned First =
      Float ? CmpInst::FIRST_FCMP_PREDICATE : CmpInst::FIRST_ICMP_PREDICATE;
  const unsigned Last =
      Float ? CmpInst::LAST_FCMP_PREDICATE : CmpInst::LAST_ICMP_PREDICATE;
  for (unsigned P = First; P <= Last; ++P)
    if (Name == CmpInst::getPredicateName(static_cast<CmpInst::Predicate>(P)))
      return static_cast<CmpInst::Predicate>(P);
  return std::nullopt;
}

std::string both(const Value &A, const Value &B) {
  return printedOperand(A) + " and " + printedOperand(B);
}

bool isLoadable(const Type &T) {
  return T.isFirstClassType() && const_cast<Type &>(T).isSized() &&
         !T.isTokenTy() && !T.isLabelTy() && !T.isMetadataTy();
}

bool canPass(const Function &Callee, unsigned I) {
  for (Attribute::AttrKind K :
       {Attribute::InAlloca, Attribute::Preallocated, Attribute::SwiftError})
    if (Callee.hasParamAttribute(I, K))
      return false;
  return true;
}

} // namespace

Instruction &insertBinary(HostedModule &H, Instruction &Pos,
                          const std::string &Opcode, Value &A, Value &B,
                          const std::string &Name) {
  Insertion In(H, Pos, "binary", {&A, &B});
  const auto Op =
      opcodeOf(Opcode, Instruction::BinaryOpsBegin, Instruction::BinaryOpsEnd);
  if (!Op)
    In.fail("one of LLVM's binary opcodes, as add or fmul", Opcode);
  const bool Float = Opcode[0] == 'f';
  if (A.getType() != B.getType() ||
      (Float ? !A.getType()->isFPOrFPVectorTy()
             : !A.getType()->isIntOrIntVectorTy()))
    In.fail(Float ? "two floating-point numbers of one type"
                  : "two integers of one type",
            both(A, B));
  return In.put(
      BinaryOperator::Create(static_cast<Instruction::BinaryOps>(*Op), &A, &B),
      Name);
}

Instruction &insertCompare(HostedModule &H, Instruction &Pos,
                           const std::string &Predicate, Value &A, Value &B,
                           const std::string &Name) {
  Insertion In(H, Pos, "compare", {&A, &B});
  Type &T = *A.getType();
  const bool Float = T.isFPOrFPVectorTy();
  if (&T != B.getType() ||
      !(Float || T.isIntOrIntVectorTy() || T.isPtrOrPtrVectorTy()))
    In.fail("two numbers or pointers of one type", both(A, B));
  const auto P = predicateOf(Predicate, Float);
  if (!P)
    In.fail(Float ? "a predicate of fcmp, as olt"
                  : "a predicate of icmp, as slt",
            Predicate);
  return In.put(CmpInst::Create(Float ? Instruction::FCmp : Instruction::ICmp,
                                *P, &A, &B),
                Name);
}

Instruction &insertCast(HostedModule &H, Instruction &Pos,
                        const std::string &Opcode, Value &V, Type &To,
                        const std::string &Name) {
  Insertion In(H, Pos, "cast", {&V});
  const auto Op =
      opcodeOf(Opcode, Instruction::CastOpsBegin, Instruction::CastOpsEnd);
  if (!Op)
    In.fail("one of LLVM's cast opcodes, as zext", Opcode);
  const auto Cast = static_cast<Instruction::CastOps>(*Op);
  if (!isLoadable(To) || !CastInst::castIsValid(Cast, &V, &To))
    In.fail("types that " + Opcode + " can take",
            printedOperand(V) + " to " + printedType(To));
  return In.put(CastInst::Create(Cast, &V, &To), Name);
}

Instruction &insertSelect(HostedModule &H, Instruction &Pos, Value &Condition,
                          Value &A, Value &B, const std::string &Name) {
  Insertion In(H, Pos, "select", {&Condition, &A, &B});
  if (const char *Wrong = SelectInst::areInvalidOperands(&Condition, &A, &B))
    In.fail("operands that select can take", Wrong);
  return In.put(SelectInst::Create(&Condition, &A, &B), Name);
}

Instruction &insertAlloca(HostedModule &H, Instruction &Pos, Type &T,
                          const std::string &Name) {
  Insertion In(H, Pos, "alloca", {});
  if (!isLoadable(T))
    In.fail("a type of known size", printedType(T));
  const DataLayout &DL = H.module().getDataLayout();
  return In.put(new AllocaInst(&T, DL.getAllocaAddrSpace(), nullptr,
                               DL.getPrefTypeAlign(&T)),
                Name);
}

Instruction &insertLoad(HostedModule &H, Instruction &Pos, Type &T,
                        Value &Pointer, const std::string &Name) {
  Insertion In(H, Pos, "load", {&Pointer});
  if (!isLoadable(T))
    In.fail("a type of known size", printedType(T));
  if (!Pointer.getType()->isPointerTy())
    In.fail("a pointer", printedOperand(Pointer));
  const Align A = H.module().getDataLayout().getABITypeAlign(&T);
  return In.put(new LoadInst(&T, &Pointer, "", /*isVolatile=*/false, A), Name);
}

Instruction &insertStore(HostedModule &H, Instruction &Pos, Value &V,
                         Value &Pointer) {
  Insertion In(H, Pos, "store", {&V, &Pointer});
  if (!isLoadable(*V.getType()))
    In.fail("a value of known size", printedOperand(V));
  if (!Pointer.getType()->isPointerTy())
    In.fail("a pointer", printedOperand(Pointer));
  const Align A = H.module().getDataLayout().getABITypeAlign(V.getType());
  return In.put(new StoreInst(&V, &Pointer, /*isVolatile=*/false, A), "");
}

Instruction &insertElement(HostedModule &H, Instruction &Pos, Type &T,
                           Value &Pointer, const std::vector<Value *> &Indices,
                           const std::string &Name) {
  Insertion In(H, Pos, "getelementptr", {&Pointer});
  for (Value *I : Indices) {
    checkOperand(H, *I, Pos, "getelementptr");
    if (!I->getType()->isIntegerTy())
      In.fail("integers for indices", printedOperand(*I));
  }
  if (!Pointer.getType()->isPointerTy())
    In.fail("a pointer", printedOperand(Pointer));
  if (!T.isSized() || T.isScalableTy() || Indices.empty() ||
      !GetElementPtrInst::getIndexedType(&T, ArrayRef<Value *>(Indices)))
    In.fail("a type of known size that the indices fit",
            printedType(T) + " and " + std::to_string(Indices.size()) +
                " indices");
  return In.put(GetElementPtrInst::Create(&T, &Pointer, Indices), Name);
}

Instruction &insertCall(HostedModule &H, Instruction &Pos, Function &Callee,
                        const std::vector<Value *> &Arguments,
                        const std::string &Name) {
  Insertion In(H, Pos, "call", Arguments);
  const FunctionType &T = *Callee.getFunctionType();
  const unsigned Fixed = T.getNumParams();
  if (Arguments.size() < Fixed || (Arguments.size() > Fixed && !T.isVarArg()))
    In.fail(std::to_string(Fixed) + " arguments for @" + Callee.getName().str(),
            std::to_string(Arguments.size()));
  for (unsigned I = 0; I < Fixed; ++I)
    if (Arguments[I]->getType() != T.getParamType(I) || !canPass(Callee, I))
      In.fail("a value of type " + printedType(*T.getParamType(I)) +
                  " that a plain call can pass",
              printedOperand(*Arguments[I]));
  const Function &Caller = *Pos.getFunction();
  if (Caller.hasPersonalityFn() &&
      isFuncletEHPersonality(classifyEHPersonality(Caller.getPersonalityFn())))
    In.fail("a caller without funclets", Caller.getName().str());
  CallInst *CB = CallInst::Create(&Callee, Arguments);
  CB->setCallingConv(Callee.getCallingConv());
  CB->setAttributes(
      Callee.getAttributes().removeFnAttributes(CB->getContext()));
  Instruction &New = In.put(CB, Name);
  // The checks above cover most calls; the verifier has rules for the rest.
  const bool Particular = Callee.isIntrinsic() || Callee.isConvergent();
  if (std::string Complaint = Particular ? complaintAbout(Caller) : "";
      !Complaint.empty()) {
    New.eraseFromParent();
    In.fail("a call that LLVM accepts", Complaint);
  }
  return New;
}

} // namespace passpilot
