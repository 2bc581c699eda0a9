// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "core.h"
#include "ir.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/IR/InstIterator.h"

namespace passpilot {

static nb::list instructionsOf(const FunctionRef &R) {
  nb::list L;
  for (llvm::Instruction &I : llvm::instructions(of(R)))
    L.append(valueOf(R.O, &I));
  return L;
}

static nb::list callSitesOf(const FunctionRef &R) {
  nb::list L;
  for (llvm::Instruction &I : llvm::instructions(of(R)))
    if (llvm::isa<llvm::CallBase>(I))
      L.append(valueOf(R.O, &I));
  return L;
}

static nb::list callersOf(const FunctionRef &R) {
  llvm::SmallSetVector<llvm::Function *, 8> Callers;
  for (const llvm::Use &U : of(R).uses())
    if (auto *CB = llvm::dyn_cast<llvm::CallBase>(U.getUser()))
      if (CB->isCallee(&U))
        Callers.insert(CB->getFunction());
  nb::list L;
  for (llvm::Function *F : Callers)
    L.append(valueOf(R.O, F));
  return L;
}

static std::optional<uint64_t> entryCountOf(const FunctionRef &R) {
  auto Count = of(R).getEntryCount();
  return Count ? std::optional(Count->getCount()) : std::nullopt;
}

static nb::object personalityOf(const FunctionRef &R) {
  llvm::Function &F = of(R);
  return F.hasPersonalityFn() ? valueOf(R.O, F.getPersonalityFn()) : nb::none();
}

static nb::object entryOf(const FunctionRef &R) {
  llvm::Function &F = of(R);
  return F.empty() ? nb::none() : valueOf(R.O, &F.getEntryBlock());
}

static void bindBody(nb::class_<FunctionRef, GlobalRef> &C) {
  C.def_prop_ro(
       "blocks", [](FunctionRef &R) { return handlesOf(R.O, of(R)); },
       nb::sig("def blocks(self) -> list[BasicBlock]"),
       "The blocks, in order; empty for a declaration.")
      .def_prop_ro("entry_block", &entryOf,
                   nb::sig("def entry_block(self) -> BasicBlock | None"),
                   "The first block; None for a declaration.")
      .def_prop_ro("instructions", &instructionsOf,
                   nb::sig("def instructions(self) -> list[Instruction]"),
                   "The instructions of all blocks, in order.")
      .def_prop_ro("call_sites", &callSitesOf,
                   nb::sig("def call_sites(self) -> list[CallBase]"),
                   "The calls in it, including those of intrinsics.")
      .def_prop_ro("callers", &callersOf,
                   nb::sig("def callers(self) -> list[Function]"),
                   "The functions that call it directly.")
      .def_prop_ro(
          "block_count", [](FunctionRef &R) { return of(R).size(); },
          "The number of blocks.")
      .def_prop_ro(
          "instruction_count",
          [](FunctionRef &R) { return of(R).getInstructionCount(); },
          "The number of instructions.")
      .def_prop_ro(
          "opcode_counts", [](FunctionRef &R) { return opcodeCounts(of(R)); },
          "The number of instructions of each opcode, by its name.")
      .def_prop_ro("entry_count", &entryCountOf,
                   "How often it is entered, according to the profile.");
}

void bindFunction(nb::module_ &M) {
  nb::class_<FunctionRef, GlobalRef> C(M, "Function",
                                       "A function, defined or declared.");
  bindBody(C);
  bindFunctionAnalyses(C);
  bindFunctionMutations(C);
  C.def_prop_ro(
       "arguments", [](FunctionRef &R) { return handlesOf(R.O, of(R).args()); },
       nb::sig("def arguments(self) -> list[Argument]"),
       "The formal arguments.")
      .def_prop_ro(
          "return_type",
          [](FunctionRef &R) { return TypeRef{R.O, of(R).getReturnType()}; },
          "The type of the returned value.")
      .def_prop_ro(
          "attributes",
          [](FunctionRef &R) {
            return attributeTexts(of(R).getAttributes().getFnAttrs());
          },
          "The attributes of the function itself, in assembly syntax.")
      .def_prop_ro(
          "return_attributes",
          [](FunctionRef &R) {
            return attributeTexts(of(R).getAttributes().getRetAttrs());
          },
          "The attributes of the returned value, in assembly syntax.")
      .def_prop_rw(
          "calling_convention",
          [](FunctionRef &R) {
            return callingConvText(of(R).getCallingConv());
          },
          &setCallingConventionOf,
          "The assembly's word; \"ccc\" if there is none.")
      .def_prop_ro(
          "is_vararg", [](FunctionRef &R) { return of(R).isVarArg(); },
          "Whether it takes more arguments than it declares.")
      .def_prop_ro(
          "is_intrinsic", [](FunctionRef &R) { return of(R).isIntrinsic(); },
          "Whether it is one of LLVM's intrinsics.")
      .def_prop_ro(
          "gc",
          [](FunctionRef &R) {
            return of(R).hasGC() ? of(R).getGC() : std::string();
          },
          "The garbage collector's name; empty if it has none.")
      .def_prop_ro(
          "personality", &personalityOf,
          nb::sig("def personality(self) -> Value | None"),
          "The personality function for exceptions; None if it has none.");
}

} // namespace passpilot
