// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "core.h"
#include "define.h"

namespace passpilot {

namespace {

/// Inserts new instructions before a given one.
struct Builder {
  nb::object Before;
  const InstructionRef &position() const {
    return nb::cast<const InstructionRef &>(Before);
  }
};
const Owner &ownerOf(const Builder &B) { return B.position().O; }
llvm::Instruction &of(const Builder &B) { return of(B.position()); }

llvm::Instruction &phi(HostedModule &H, llvm::Instruction &Pos,
                       llvm::Type &Type, const std::vector<Incoming> &In,
                       const std::string &Name) {
  return insertPhi(H, *Pos.getParent(), Type, In, Name);
}

void bindMemoryAndCalls(nb::class_<Builder> &C) {
  method(C, "alloca",
         "Inserts a place on the stack; in a loop, each time a new one.",
         &insertAlloca, nb::arg("type"), nb::arg("name") = "");
  method(C, "load", "Inserts a load of a type.", &insertLoad, nb::arg("type"),
         nb::arg("pointer"), nb::arg("name") = "");
  method(C, "store", "Inserts a store.", &insertStore, nb::arg("value"),
         nb::arg("pointer"));
  method(C, "getelementptr",
         "Inserts the computation of an address from a type and indices.",
         &insertElement, nb::arg("type"), nb::arg("pointer"),
         nb::arg("indices"), nb::arg("name") = "");
  method(C, "call", "Inserts a direct call.", &insertCall, nb::arg("callee"),
         nb::arg("arguments"), nb::arg("name") = "",
         nb::sig("def call(self, callee: Function, arguments: "
                 "Sequence[Value], name: str = '') -> CallBase"));
}

} // namespace

void bindBuilder(nb::module_ &M) {
  nb::class_<Builder> C(
      M, "IRBuilder",
      "Inserts instructions before a given one, with its debug location.");
  C.def(
      "__init__",
      [](Builder *B, nb::handle_t<InstructionRef> Before) {
        of(nb::cast<const InstructionRef &>(Before));
        new (B) Builder{nb::borrow(Before)};
      },
      nb::arg("before"),
      nb::sig("def __init__(self, before: Instruction) -> None"));
  method(C, "binary",
         "Inserts \"add\", \"fmul\", \"shl\", ... of two values of one type.",
         &insertBinary, nb::arg("opcode"), nb::arg("a"), nb::arg("b"),
         nb::arg("name") = "");
  method(
      C, "compare",
      "Inserts \"slt\", \"eq\", ... of integers or pointers; \"olt\", ... of "
      "floating-point numbers.",
      &insertCompare, nb::arg("predicate"), nb::arg("a"), nb::arg("b"),
      nb::arg("name") = "");
  method(C, "cast", "Inserts \"zext\", \"trunc\", \"sitofp\", \"bitcast\", ...",
         &insertCast, nb::arg("opcode"), nb::arg("value"), nb::arg("type"),
         nb::arg("name") = "");
  method(C, "select", "Inserts a choice between two values of one type.",
         &insertSelect, nb::arg("condition"), nb::arg("a"), nb::arg("b"),
         nb::arg("name") = "");
  method(C, "phi",
         "Inserts a phi at the beginning of the block, with one value from "
         "each predecessor.",
         &phi, nb::arg("type"), nb::arg("incoming"), nb::arg("name") = "");
  bindMemoryAndCalls(C);
}

} // namespace passpilot
