// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "core.h"
#include "ir.h"

#include "../hosted/mutations.h"

namespace passpilot {

namespace {

/// Inserts new instructions before a given one.
struct Builder {
  nb::object Before;
  const InstructionRef &position() const {
    return nb::cast<const InstructionRef &>(Before);
  }
  const Owner &owner() const { return position().O; }
  HostedModule &module() const { return *owner().H; }
  llvm::Instruction &at() const { return of(position()); }
};

std::vector<llvm::Value *> valuesIn(const Owner &O, nb::sequence Values,
                                    const char *What) {
  std::vector<llvm::Value *> All;
  for (nb::handle Each : Values)
    All.push_back(&operandIn(O, nb::cast<const ValueRef &>(Each), What));
  return All;
}

nb::object made(const Builder &B, llvm::Instruction &I) {
  return valueOf(B.owner(), &I);
}

llvm::Value &in(const Builder &B, const ValueRef &V, const char *What) {
  return operandIn(B.owner(), V, What);
}

nb::object binary(const Builder &B, const std::string &Opcode,
                  const ValueRef &L, const ValueRef &R,
                  const std::string &Name) {
  return made(B, insertBinary(B.module(), B.at(), Opcode, in(B, L, "binary"),
                              in(B, R, "binary"), Name));
}

nb::object compare(const Builder &B, const std::string &Predicate,
                   const ValueRef &L, const ValueRef &R,
                   const std::string &Name) {
  return made(B, insertCompare(B.module(), B.at(), Predicate,
                               in(B, L, "compare"), in(B, R, "compare"), Name));
}

nb::object castTo(const Builder &B, const std::string &Opcode,
                  const ValueRef &V, const TypeRef &T,
                  const std::string &Name) {
  return made(B, insertCast(B.module(), B.at(), Opcode, in(B, V, "cast"),
                            typeIn(B.owner(), T, "cast"), Name));
}

nb::object select(const Builder &B, const ValueRef &Condition,
                  const ValueRef &L, const ValueRef &R,
                  const std::string &Name) {
  return made(B, insertSelect(B.module(), B.at(), in(B, Condition, "select"),
                              in(B, L, "select"), in(B, R, "select"), Name));
}

nb::object phi(const Builder &B, const TypeRef &T, nb::sequence In,
               const std::string &Name) {
  std::vector<Incoming> All;
  for (nb::handle Each : In) {
    const auto [Value, From] =
        nb::cast<std::pair<nb::object, nb::object>>(Each);
    All.emplace_back(&in(B, nb::cast<const ValueRef &>(Value), "phi"),
                     llvm::cast<llvm::BasicBlock>(
                         &in(B, nb::cast<const BlockRef &>(From), "phi")));
  }
  return made(B, insertPhi(B.module(), *B.at().getParent(),
                           typeIn(B.owner(), T, "phi"), All, Name));
}

nb::object allocate(const Builder &B, const TypeRef &T,
                    const std::string &Name) {
  return made(B, insertAlloca(B.module(), B.at(),
                              typeIn(B.owner(), T, "alloca"), Name));
}

nb::object load(const Builder &B, const TypeRef &T, const ValueRef &Pointer,
                const std::string &Name) {
  return made(B, insertLoad(B.module(), B.at(), typeIn(B.owner(), T, "load"),
                            in(B, Pointer, "load"), Name));
}

nb::object store(const Builder &B, const ValueRef &V, const ValueRef &Pointer) {
  return made(B, insertStore(B.module(), B.at(), in(B, V, "store"),
                             in(B, Pointer, "store")));
}

nb::object element(const Builder &B, const TypeRef &T, const ValueRef &Pointer,
                   nb::sequence Indices, const std::string &Name) {
  const char *What = "getelementptr";
  return made(B, insertElement(B.module(), B.at(), typeIn(B.owner(), T, What),
                               in(B, Pointer, What),
                               valuesIn(B.owner(), Indices, What), Name));
}

nb::object call(const Builder &B, const FunctionRef &Callee,
                nb::sequence Arguments, const std::string &Name) {
  in(B, Callee, "call");
  return made(B, insertCall(B.module(), B.at(), of(Callee),
                            valuesIn(B.owner(), Arguments, "call"), Name));
}

void bindMemoryAndCalls(nb::class_<Builder> &Class) {
  Class
      .def("alloca", &allocate, nb::arg("type"), nb::arg("name") = "",
           nb::sig("def alloca(self, type: Type, name: str = '') -> "
                   "Instruction"),
           "Inserts a place on the stack; in a loop, each time a new one.")
      .def("load", &load, nb::arg("type"), nb::arg("pointer"),
           nb::arg("name") = "",
           nb::sig("def load(self, type: Type, pointer: Value, "
                   "name: str = '') -> Instruction"),
           "Inserts a load of a type.")
      .def("store", &store, nb::arg("value"), nb::arg("pointer"),
           nb::sig("def store(self, value: Value, pointer: Value) -> "
                   "Instruction"),
           "Inserts a store.")
      .def("getelementptr", &element, nb::arg("type"), nb::arg("pointer"),
           nb::arg("indices"), nb::arg("name") = "",
           nb::sig("def getelementptr(self, type: Type, pointer: Value, "
                   "indices: Sequence[Value], name: str = '') -> Instruction"),
           "Inserts the computation of an address from a type and indices.")
      .def("call", &call, nb::arg("callee"), nb::arg("arguments"),
           nb::arg("name") = "",
           nb::sig("def call(self, callee: Function, arguments: "
                   "Sequence[Value], name: str = '') -> CallBase"),
           "Inserts a direct call.");
}

} // namespace

void bindBuilder(nb::module_ &M) {
  nb::class_<Builder> Class(
      M, "IRBuilder",
      "Inserts instructions before a given one, with its debug location.");
  Class
      .def(
          "__init__",
          [](Builder *B, nb::handle_t<InstructionRef> Before) {
            of(nb::cast<const InstructionRef &>(Before));
            new (B) Builder{nb::borrow(Before)};
          },
          nb::arg("before"),
          nb::sig("def __init__(self, before: Instruction) -> None"))
      .def("binary", &binary, nb::arg("opcode"), nb::arg("a"), nb::arg("b"),
           nb::arg("name") = "",
           nb::sig("def binary(self, opcode: str, a: Value, b: Value, "
                   "name: str = '') -> Instruction"),
           "Inserts \"add\", \"fmul\", \"shl\", ... of two values of one type.")
      .def("compare", &compare, nb::arg("predicate"), nb::arg("a"),
           nb::arg("b"), nb::arg("name") = "",
           nb::sig("def compare(self, predicate: str, a: Value, b: Value, "
                   "name: str = '') -> Instruction"),
           "Inserts \"slt\", \"eq\", ... of integers or pointers; \"olt\", ... "
           "of floating-point numbers.")
      .def("cast", &castTo, nb::arg("opcode"), nb::arg("value"),
           nb::arg("type"), nb::arg("name") = "",
           nb::sig("def cast(self, opcode: str, value: Value, type: Type, "
                   "name: str = '') -> Instruction"),
           "Inserts \"zext\", \"trunc\", \"sitofp\", \"bitcast\", ...")
      .def("select", &select, nb::arg("condition"), nb::arg("a"), nb::arg("b"),
           nb::arg("name") = "",
           nb::sig("def select(self, condition: Value, a: Value, b: Value, "
                   "name: str = '') -> Instruction"),
           "Inserts a choice between two values of one type.")
      .def("phi", &phi, nb::arg("type"), nb::arg("incoming"),
           nb::arg("name") = "",
           nb::sig("def phi(self, type: Type, incoming: "
                   "Sequence[tuple[Value, BasicBlock]], name: str = '') -> "
                   "Instruction"),
           "Inserts a phi at the beginning of the block, with one value from "
           "each predecessor.");
  bindMemoryAndCalls(Class);
}

} // namespace passpilot
