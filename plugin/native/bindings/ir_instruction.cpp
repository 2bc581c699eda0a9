// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "core.h"
#include "ir.h"

#include "llvm/IR/Instructions.h"

namespace passpilot {

/// LLVM's name of the opcode; the Python string is cached.
static nb::object opcodeOf(const InstructionRef &R) {
  static PyObject *Names[128];
  const llvm::Instruction &I = of(R);
  PyObject *&Name = Names[I.getOpcode() & 127];
  if (!Name)
    Name = PyUnicode_InternFromString(I.getOpcodeName());
  return nb::borrow(Name);
}

static nb::list operandsOf(const InstructionRef &R) {
  const llvm::Instruction &I = of(R);
  nb::list L;
  for (const llvm::Use &U : I.operands())
    L.append(valueOf(R.O, U.get()));
  return L;
}

static std::optional<SourceLocation> locationOf(const InstructionRef &R) {
  auto Chain = locationChain(of(R));
  return Chain.empty() ? std::nullopt : std::optional(Chain.front());
}

static std::vector<SourceLocation> inlinedAtOf(const InstructionRef &R) {
  auto Chain = locationChain(of(R));
  if (!Chain.empty())
    Chain.erase(Chain.begin());
  return Chain;
}

static nb::dict metadataDict(const InstructionRef &R) {
  nb::dict D;
  for (nb::handle Pair : attachmentsOf(R.O, of(R)))
    D[Pair[0]] = Pair[1];
  return D;
}

static nb::object predicateOf(const InstructionRef &R) {
  auto *C = llvm::dyn_cast<llvm::CmpInst>(&of(R));
  if (!C)
    return nb::none();
  return textOf(llvm::CmpInst::getPredicateName(C->getPredicate()));
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

static std::vector<unsigned> indicesOf(const InstructionRef &R) {
  llvm::ArrayRef<unsigned> Indices;
  if (auto *E = llvm::dyn_cast<llvm::ExtractValueInst>(&of(R)))
    Indices = E->getIndices();
  else if (auto *I = llvm::dyn_cast<llvm::InsertValueInst>(&of(R)))
    Indices = I->getIndices();
  return Indices.vec();
}

/// The type accessed through the address of an alloca, load, store or GEP.
static std::optional<TypeRef> accessTypeOf(const InstructionRef &R) {
  llvm::Instruction &I = of(R);
  if (auto *A = llvm::dyn_cast<llvm::AllocaInst>(&I))
    return TypeRef{R.O, A->getAllocatedType()};
  if (auto *G = llvm::dyn_cast<llvm::GetElementPtrInst>(&I))
    return TypeRef{R.O, G->getSourceElementType()};
  if (llvm::isa<llvm::LoadInst, llvm::StoreInst>(I))
    return TypeRef{R.O, llvm::getLoadStoreType(&I)};
  return std::nullopt;
}

static std::optional<uint64_t> alignmentOf(const InstructionRef &R) {
  llvm::Instruction &I = of(R);
  if (auto *A = llvm::dyn_cast<llvm::AllocaInst>(&I))
    return A->getAlign().value();
  if (llvm::isa<llvm::LoadInst, llvm::StoreInst>(I))
    return llvm::getLoadStoreAlignment(&I).value();
  return std::nullopt;
}

static void bindPlace(nb::class_<InstructionRef, ValueRef> &C) {
  C.def_prop_ro(
       "block",
       [](InstructionRef &R) { return valueOf(R.O, of(R).getParent()); },
       nb::sig("def block(self) -> BasicBlock"),
       "The block that the instruction is in.")
      .def_prop_ro(
          "function",
          [](InstructionRef &R) { return valueOf(R.O, of(R).getFunction()); },
          nb::sig("def function(self) -> Function"),
          "The function that the instruction is in.")
      .def_prop_ro(
          "next",
          [](InstructionRef &R) { return valueOf(R.O, of(R).getNextNode()); },
          nb::sig("def next(self) -> Instruction | None"),
          "The next instruction in the block, or None.")
      .def_prop_ro(
          "previous",
          [](InstructionRef &R) { return valueOf(R.O, of(R).getPrevNode()); },
          nb::sig("def previous(self) -> Instruction | None"),
          "The previous instruction in the block, or None.")
      .def_prop_ro("debug_location", &locationOf,
                   "The source place; None without debug information.")
      .def_prop_ro("inlined_at", &inlinedAtOf,
                   "The calls it was inlined through, innermost first.")
      .def_prop_ro("metadata", &metadataDict,
                   nb::sig("def metadata(self) -> dict[str, object]"),
                   "The attachments by kind, without the debug location.");
}

static void bindDetails(nb::class_<InstructionRef, ValueRef> &C) {
  C.def_prop_ro("predicate", &predicateOf,
                nb::sig("def predicate(self) -> str | None"),
                "The predicate of a comparison: \"slt\", \"oeq\", ...")
      .def_prop_ro(
          "incoming", &incomingOf,
          nb::sig("def incoming(self) -> list[tuple[Value, BasicBlock]]"),
          "The (value, predecessor) pairs of a phi; else empty.")
      .def_prop_ro("cases", &casesOf,
                   nb::sig("def cases(self) -> list[tuple[int, BasicBlock]]"),
                   "The cases of a switch without the default; else empty.")
      .def_prop_ro("indices", &indicesOf,
                   "The indices of extractvalue and insertvalue; else empty.")
      .def_prop_ro(
          "access_type", &accessTypeOf,
          "The type that an alloca, load, store or getelementptr accesses.")
      .def_prop_ro("alignment", &alignmentOf,
                   "The alignment of an alloca, load or store, in bytes.")
      .def_prop_ro(
          "ordering", [](InstructionRef &R) { return orderingText(of(R)); },
          "The memory ordering of an atomic instruction; else empty.");
}

void bindInstruction(nb::module_ &M) {
  nb::class_<InstructionRef, ValueRef> C(M, "Instruction", "An instruction.");
  C.def_prop_ro("opcode", &opcodeOf, nb::sig("def opcode(self) -> str"),
                "The assembly's word: \"add\", \"call\", \"br\", ...")
      .def_prop_ro(
          "operands", &operandsOf, nb::sig("def operands(self) -> list[Value]"),
          "The operands; of a call: arguments, bundle operands, callee.")
      .def_prop_ro(
          "flags", [](InstructionRef &R) { return flagTexts(of(R)); },
          "\"nsw\", \"inbounds\", \"fast\", \"volatile\", ... as printed.")
      .def_prop_ro(
          "is_terminator",
          [](InstructionRef &R) { return of(R).isTerminator(); },
          "Whether it ends a block.")
      .def_prop_ro(
          "may_read",
          [](InstructionRef &R) { return of(R).mayReadFromMemory(); },
          "Whether it may read memory.")
      .def_prop_ro(
          "may_write",
          [](InstructionRef &R) { return of(R).mayWriteToMemory(); },
          "Whether it may write memory.")
      .def_prop_ro(
          "has_side_effects",
          [](InstructionRef &R) { return of(R).mayHaveSideEffects(); },
          "Whether it may write memory, not return, or throw.");
  bindPlace(C);
  bindDetails(C);
  bindInstructionAnalyses(C);
  bindInstructionMutations(C);
}

} // namespace passpilot
