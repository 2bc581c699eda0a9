// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "core.h"
#include "ir.h"

#include "llvm/IR/Comdat.h"

namespace passpilot {

static const char *unnamedAddrOf(const GlobalRef &R) {
  switch (of(R).getUnnamedAddr()) {
  case llvm::GlobalValue::UnnamedAddr::None:
    return "";
  case llvm::GlobalValue::UnnamedAddr::Local:
    return "local_unnamed_addr";
  case llvm::GlobalValue::UnnamedAddr::Global:
    return "unnamed_addr";
  }
  return "";
}

static nb::str comdatOf(const GlobalRef &R) {
  const llvm::Comdat *C = of(R).getComdat();
  return textOf(C ? C->getName() : "");
}

static std::optional<uint64_t> alignmentOf(const GlobalRef &R) {
  llvm::GlobalValue &G = of(R);
  llvm::MaybeAlign A;
  if (auto *F = llvm::dyn_cast<llvm::Function>(&G))
    A = F->getAlign();
  else if (auto *V = llvm::dyn_cast<llvm::GlobalVariable>(&G))
    A = V->getAlign();
  return A ? std::optional(A->value()) : std::nullopt;
}

static nb::list metadataListOf(const GlobalRef &R) {
  llvm::GlobalValue &G = of(R);
  return llvm::isa<llvm::GlobalObject>(G) ? attachmentsOf(R.O, G) : nb::list();
}

static nb::object initializerOf(const VariableRef &R) {
  llvm::GlobalVariable &G = of(R);
  return G.hasInitializer() ? valueOf(R.O, G.getInitializer()) : nb::none();
}

static void bindVariable(nb::module_ &M) {
  nb::class_<VariableRef, GlobalRef>(M, "GlobalVariable", "A global variable.")
      .def_prop_ro("initializer", &initializerOf,
                   nb::sig("def initializer(self) -> Constant | None"),
                   "The initial value; None for a declaration.")
      .def_prop_ro(
          "is_constant", [](VariableRef &R) { return of(R).isConstant(); },
          "Whether the program never writes it.")
      .def_prop_ro(
          "is_externally_initialized",
          [](VariableRef &R) { return of(R).isExternallyInitialized(); },
          "Whether its value may change before the program starts.")
      .def_prop_ro(
          "attributes",
          [](VariableRef &R) { return attributeTexts(of(R).getAttributes()); },
          "The attributes, in assembly syntax.");
  nb::class_<AliasRef, GlobalRef>(M, "GlobalAlias",
                                  "Another name for a global.")
      .def_prop_ro(
          "aliasee",
          [](AliasRef &R) { return valueOf(R.O, of(R).getAliasee()); },
          nb::sig("def aliasee(self) -> Constant"),
          "What the alias stands for.");
}

void bindGlobal(nb::module_ &M) {
  nb::class_<GlobalRef, ConstantRef> C(
      M, "GlobalValue",
      "A global: a function, a variable, an alias or an ifunc.");
  bindGlobalMutations(C);
  C.def_prop_rw(
       "linkage", [](GlobalRef &R) { return linkageText(of(R)); },
       &setLinkageOf, "The assembly's word; \"external\" if there is none.")
      .def_prop_rw(
          "visibility", [](GlobalRef &R) { return visibilityText(of(R)); },
          &setVisibilityOf, "\"default\", \"hidden\" or \"protected\".")
      .def_prop_ro(
          "is_declaration", [](GlobalRef &R) { return of(R).isDeclaration(); },
          "Whether another module defines it.")
      .def_prop_ro(
          "value_type",
          [](GlobalRef &R) { return TypeRef{R.O, of(R).getValueType()}; },
          "The type of the value at the address; `type` is the address's.")
      .def_prop_ro(
          "is_dso_local", [](GlobalRef &R) { return of(R).isDSOLocal(); },
          "Whether it resolves within the linked file.")
      .def_prop_ro(
          "is_thread_local", [](GlobalRef &R) { return of(R).isThreadLocal(); },
          "Whether every thread has its own.")
      .def_prop_ro("unnamed_addr", &unnamedAddrOf,
                   "\"unnamed_addr\", \"local_unnamed_addr\" or empty.")
      .def_prop_ro(
          "section", [](GlobalRef &R) { return textOf(of(R).getSection()); },
          "The section in the object file; empty for the default.")
      .def_prop_ro("comdat", &comdatOf, "The name of its comdat, or empty.")
      .def_prop_ro("alignment", &alignmentOf,
                   "The explicit alignment in bytes, or None.")
      .def_prop_ro("metadata", &metadataListOf,
                   nb::sig("def metadata(self) -> list[tuple[str, object]]"),
                   "Pairs of kind and value, without debug information; a kind "
                   "may occur several times.");
  bindVariable(M);
}

} // namespace passpilot
