// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "core.h"
#include "define.h"

#include "llvm/IR/Comdat.h"

namespace passpilot {

using llvm::GlobalValue;
using llvm::GlobalVariable;

static const char *unnamedAddrOf(const GlobalValue &G) {
  switch (G.getUnnamedAddr()) {
  case GlobalValue::UnnamedAddr::None:
    return "";
  case GlobalValue::UnnamedAddr::Local:
    return "local_unnamed_addr";
  case GlobalValue::UnnamedAddr::Global:
    return "unnamed_addr";
  }
  return "";
}

static llvm::StringRef comdatOf(const GlobalValue &G) {
  const llvm::Comdat *C = G.getComdat();
  return C ? C->getName() : "";
}

static std::optional<uint64_t> alignmentOf(const GlobalValue &G) {
  llvm::MaybeAlign A;
  if (auto *F = llvm::dyn_cast<llvm::Function>(&G))
    A = F->getAlign();
  else if (auto *V = llvm::dyn_cast<GlobalVariable>(&G))
    A = V->getAlign();
  return A ? std::optional(A->value()) : std::nullopt;
}

static nb::list metadataListOf(const GlobalRef &R) {
  GlobalValue &G = of(R);
  return llvm::isa<llvm::GlobalObject>(G) ? attachmentsOf(R.O, G) : nb::list();
}

static void bindVariable(nb::module_ &M) {
  nb::class_<VariableRef, GlobalRef> C(M, "GlobalVariable",
                                       "A global variable.");
  Properties P(C);
  P.optional("initializer", "The initial value; None for a declaration.",
             [](GlobalVariable &G) {
               return G.hasInitializer() ? G.getInitializer() : nullptr;
             });
  P("is_constant", "Whether the program never writes it.",
    [](GlobalVariable &G) { return G.isConstant(); });
  P("is_externally_initialized",
    "Whether its value may change before the program starts.",
    [](GlobalVariable &G) { return G.isExternallyInitialized(); });
  P("attributes", "The attributes, in assembly syntax.",
    [](GlobalVariable &G) { return attributeTexts(G.getAttributes()); });
  nb::class_<AliasRef, GlobalRef> Alias(M, "GlobalAlias",
                                        "Another name for a global.");
  Properties A(Alias);
  A("aliasee", "What the alias stands for.",
    [](llvm::GlobalAlias &G) { return G.getAliasee(); });
}

void bindGlobal(nb::module_ &M) {
  nb::class_<GlobalRef, ConstantRef> C(
      M, "GlobalValue",
      "A global: a function, a variable, an alias or an ifunc.");
  method(
      C, "erase",
      "Erases it; it must have no uses and be invisible outside the module.",
      +[](HostedModule &H, GlobalValue &G) { erase(H, G); });
  writable(
      C, "linkage", "The assembly's word; \"external\" if there is none.",
      [](GlobalValue &G) { return linkageText(G); }, &setLinkage);
  writable(
      C, "visibility", "\"default\", \"hidden\" or \"protected\".",
      [](GlobalValue &G) { return visibilityText(G); }, &setVisibility);
  Properties P(C);
  P("is_declaration", "Whether another module defines it.",
    [](GlobalValue &G) { return G.isDeclaration(); });
  P("value_type",
    "The type of the value at the address; `type` is the address's.",
    [](GlobalValue &G) { return G.getValueType(); });
  P("is_dso_local", "Whether it resolves within the linked file.",
    [](GlobalValue &G) { return G.isDSOLocal(); });
  P("is_thread_local", "Whether every thread has its own.",
    [](GlobalValue &G) { return G.isThreadLocal(); });
  P("unnamed_addr", "\"unnamed_addr\", \"local_unnamed_addr\" or empty.",
    [](GlobalValue &G) { return unnamedAddrOf(G); });
  P("section", "The section in the object file; empty for the default.",
    [](GlobalValue &G) { return G.getSection(); });
  P("comdat", "The name of its comdat, or empty.",
    [](GlobalValue &G) { return comdatOf(G); });
  P("alignment", "The explicit alignment in bytes, or None.",
    [](GlobalValue &G) { return alignmentOf(G); });
  P("metadata",
    "Pairs of kind and value, without debug information; a kind may occur "
    "several times.",
    &metadataListOf, nb::sig("def metadata(self) -> list[tuple[str, object]]"));
  bindVariable(M);
}

} // namespace passpilot
