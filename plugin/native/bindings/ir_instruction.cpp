// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "core.h"
#include "define.h"

#include "../hosted/analyses.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Instructions.h"

namespace passpilot {

using llvm::Instruction;
using TTI = llvm::TargetTransformInfo;

/// LLVM's name of the opcode; the Python string is cached.
static nb::object opcodeOf(const Instruction &I) {
  static PyObject *Names[128];
  PyObject *&Name = Names[I.getOpcode() & 127];
  if (!Name)
    Name = PyUnicode_InternFromString(I.getOpcodeName());
  return nb::borrow(Name);
}

static nb::dict metadataDict(const InstructionRef &R) {
  nb::dict D;
  for (nb::handle Pair : attachmentsOf(R.O, of(R)))
    D[Pair[0]] = Pair[1];
  return D;
}

static std::optional<llvm::StringRef> predicateOf(const Instruction &I) {
  auto *C = llvm::dyn_cast<llvm::CmpInst>(&I);
  return C ? std::optional(llvm::CmpInst::getPredicateName(C->getPredicate()))
           : std::nullopt;
}

static nb::list incomingOf(const InstructionRef &R) {
  nb::list L;
  if (auto *P = llvm::dyn_cast<llvm::PHINode>(&of(R)))
    for (unsigned I = 0, E = P->getNumIncomingValues(); I < E; ++I)
      L.append(nb::make_tuple(valueOf(R.O, P->getIncomingValue(I)),
                              valueOf(R.O, P->getIncomingBlock(I))));
  return L;
}

static nb::list casesOf(const InstructionRef &R) {
  nb::list L;
  if (auto *S = llvm::dyn_cast<llvm::SwitchInst>(&of(R)))
    for (auto &C : S->cases())
      L.append(nb::make_tuple(integerOf(*C.getCaseValue()),
                              valueOf(R.O, C.getCaseSuccessor())));
  return L;
}

static std::vector<unsigned> indicesOf(const Instruction &I) {
  llvm::ArrayRef<unsigned> Indices;
  if (auto *E = llvm::dyn_cast<llvm::ExtractValueInst>(&I))
    Indices = E->getIndices();
  else if (auto *V = llvm::dyn_cast<llvm::InsertValueInst>(&I))
    Indices = V->getIndices();
  return Indices.vec();
}

/// The type accessed through the address of an alloca, load, store or GEP.
static std::optional<TypeRef> accessTypeOf(const InstructionRef &R) {
  Instruction &I = of(R);
  if (auto *A = llvm::dyn_cast<llvm::AllocaInst>(&I))
    return TypeRef{R.O, A->getAllocatedType()};
  if (auto *G = llvm::dyn_cast<llvm::GetElementPtrInst>(&I))
    return TypeRef{R.O, G->getSourceElementType()};
  if (llvm::isa<llvm::LoadInst, llvm::StoreInst>(I))
    return TypeRef{R.O, llvm::getLoadStoreType(&I)};
  return std::nullopt;
}

static std::optional<uint64_t> alignmentOf(Instruction &I) {
  if (auto *A = llvm::dyn_cast<llvm::AllocaInst>(&I))
    return A->getAlign().value();
  if (llvm::isa<llvm::LoadInst, llvm::StoreInst>(I))
    return llvm::getLoadStoreAlignment(&I).value();
  return std::nullopt;
}

static bool dominates(const InstructionRef &A, const InstructionRef &B) {
  Instruction &I = of(A), &J = of(B);
  if (I.getFunction() != J.getFunction())
    refuseOperand("dominates", "two instructions of one function",
                  printedOperand(J) + " of " +
                      J.getFunction()->getName().str());
  return dominatorsOf(*A.O.H, *I.getFunction()).dominates(&I, &J);
}

static std::optional<int64_t> costAs(const InstructionRef &R,
                                     const std::string &Kind) {
  const std::pair<const char *, TTI::TargetCostKind> Kinds[] = {
      {"throughput", TTI::TCK_RecipThroughput},
      {"latency", TTI::TCK_Latency},
      {"code-size", TTI::TCK_CodeSize},
      {"size-and-latency", TTI::TCK_SizeAndLatency}};
  for (const auto &[Name, K] : Kinds)
    if (Kind == Name) {
      const llvm::InstructionCost C = costOf(*R.O.H, of(R), K);
      return C.isValid() ? std::optional(C.getValue()) : std::nullopt;
    }
  refuseOperand("cost", "throughput, latency, code-size or size-and-latency",
                Kind);
}

std::optional<SourceLocation> sourceLocation(const Instruction &I) {
  auto Chain = locationChain(I);
  return Chain.empty() ? std::nullopt : std::optional(Chain.front());
}

std::vector<SourceLocation> inlinedAt(const Instruction &I) {
  auto Chain = locationChain(I);
  if (!Chain.empty())
    Chain.erase(Chain.begin());
  return Chain;
}

static void bindPlace(Properties<nb::class_<InstructionRef, ValueRef>> &P) {
  P("block", "The block that the instruction is in.",
    [](Instruction &I) { return I.getParent(); });
  P("function", "The function that the instruction is in.",
    [](Instruction &I) { return I.getFunction(); });
  P.optional("next", "The next instruction in the block, or None.",
             [](Instruction &I) { return I.getNextNode(); });
  P.optional("previous", "The previous instruction in the block, or None.",
             [](Instruction &I) { return I.getPrevNode(); });
  P("debug_location", "The source place; None without debug information.",
    [](Instruction &I) { return sourceLocation(I); });
  P("inlined_at", "The calls it was inlined through, innermost first.",
    [](Instruction &I) { return inlinedAt(I); });
  P("metadata", "The attachments by kind, without the debug location.",
    &metadataDict, nb::sig("def metadata(self) -> dict[str, object]"));
}

static void bindDetails(Properties<nb::class_<InstructionRef, ValueRef>> &P) {
  P("predicate", "The predicate of a comparison: \"slt\", \"oeq\", ...",
    [](Instruction &I) { return predicateOf(I); });
  P("incoming", "The (value, predecessor) pairs of a phi; else empty.",
    &incomingOf,
    nb::sig("def incoming(self) -> list[tuple[Value, BasicBlock]]"));
  P("cases", "The cases of a switch without the default; else empty.", &casesOf,
    nb::sig("def cases(self) -> list[tuple[int, BasicBlock]]"));
  P("indices", "The indices of extractvalue and insertvalue; else empty.",
    [](Instruction &I) { return indicesOf(I); });
  P("access_type",
    "The type that an alloca, load, store or getelementptr accesses.",
    &accessTypeOf);
  P("alignment", "The alignment of an alloca, load or store, in bytes.",
    &alignmentOf);
  P("ordering", "The memory ordering of an atomic instruction; else empty.",
    [](Instruction &I) { return orderingText(I); });
}

static void bindMutations(nb::class_<InstructionRef, ValueRef> &C) {
  method(
      C, "erase",
      "Erases the instruction, which must have no users and be no terminator.",
      +[](HostedModule &H, Instruction &I) { erase(H, I); });
  method(C, "move_before",
         "Moves the instruction before another one of its function.",
         &moveBefore, nb::arg("other"));
  method(
      C, "set_incoming",
      "Replaces the value that a phi has from a predecessor.",
      +[](HostedModule &H, Instruction &I, llvm::BasicBlock &From,
          llvm::Value &V) { setIncoming(H, I, {&V, &From}); },
      nb::arg("block"), nb::arg("value"));
  method(C, "split_before",
         "Splits the block before it; returns the new block, which begins with "
         "it.",
         &splitBefore, nb::arg("name") = "");
  method(
      C, "set_metadata", "Sets the attachment of a kind; None removes it.",
      +[](HostedModule &H, Instruction &I, llvm::StringRef Kind,
          llvm::MDNode *Node) { setMetadata(H, I, Kind, Node); },
      nb::arg("kind"), nb::arg("value").none(), SetMetadata);
}

void bindInstruction(nb::module_ &M) {
  nb::class_<InstructionRef, ValueRef> C(M, "Instruction", "An instruction.");
  Properties P(C);
  P(
      "opcode", "The assembly's word: \"add\", \"call\", \"br\", ...",
      [](Instruction &I) { return opcodeOf(I); },
      nb::sig("def opcode(self) -> str"));
  P("operands", "The operands; of a call: arguments, bundle operands, callee.",
    [](Instruction &I) { return llvm::map_range(I.operands(), usedValue); });
  P("flags", "\"nsw\", \"inbounds\", \"fast\", \"volatile\", ... as printed.",
    [](Instruction &I) { return flagTexts(I); });
  P("is_terminator", "Whether it ends a block.",
    [](Instruction &I) { return I.isTerminator(); });
  P("may_read", "Whether it may read memory.",
    [](Instruction &I) { return I.mayReadFromMemory(); });
  P("may_write", "Whether it may write memory.",
    [](Instruction &I) { return I.mayWriteToMemory(); });
  P("has_side_effects", "Whether it may write memory, not return, or throw.",
    [](Instruction &I) { return I.mayHaveSideEffects(); });
  bindPlace(P);
  bindDetails(P);
  C.def("dominates", &dominates, nb::arg("other"),
        "Whether every way to the other instruction comes through this one.")
      .def("cost", &costAs, nb::arg("kind") = "throughput",
           "The target's cost, None if it has no such instruction; kind: "
           "\"throughput\", \"latency\", \"code-size\" or "
           "\"size-and-latency\".");
  bindMutations(C);
}

} // namespace passpilot
