// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir.h"

namespace passpilot {

nb::object moduleOf(const Owner &O) {
  return nb::module_::import_("passpilot.plugin.module")
      .attr("Module")(O.Object);
}

static nb::object functionNamed(HostedModule &H, const std::string &Name) {
  return valueOf(ownerOf(H), readable(H).module().getFunction(Name));
}

static nb::object globalNamed(HostedModule &H, const std::string &Name) {
  return valueOf(ownerOf(H), readable(H).module().getNamedValue(Name));
}

static nb::dict namedMetadataOf(HostedModule &H) {
  const Owner O = ownerOf(H);
  nb::dict D;
  for (const llvm::NamedMDNode &N : readable(H).module().named_metadata()) {
    nb::list Nodes;
    for (unsigned I = 0, E = N.getNumOperands(); I < E; ++I)
      Nodes.append(metadataOf(O, N.getOperand(I)));
    D[textOf(N.getName())] = Nodes;
  }
  return D;
}

void bindIRModule(nb::class_<HostedModule> &C) {
  bindModuleMutations(C);
  C.def_prop_ro(
       "functions",
       [](HostedModule &H) {
         return handlesOf(ownerOf(H), readable(H).module().functions());
       },
       nb::sig("def functions(self) -> list[Function]"))
      .def_prop_ro(
          "globals",
          [](HostedModule &H) {
            return handlesOf(ownerOf(H), readable(H).module().globals());
          },
          nb::sig("def globals(self) -> list[GlobalVariable]"))
      .def_prop_ro(
          "aliases",
          [](HostedModule &H) {
            return handlesOf(ownerOf(H), readable(H).module().aliases());
          },
          nb::sig("def aliases(self) -> list[GlobalAlias]"))
      .def_prop_ro(
          "ifuncs",
          [](HostedModule &H) {
            return handlesOf(ownerOf(H), readable(H).module().ifuncs());
          },
          nb::sig("def ifuncs(self) -> list[GlobalValue]"))
      .def_prop_ro(
          "named_metadata", &namedMetadataOf,
          nb::sig("def named_metadata(self) -> dict[str, list[object]]"))
      .def_prop_ro("source_file",
                   [](HostedModule &H) {
                     return textOf(readable(H).module().getSourceFileName());
                   })
      .def_prop_ro("inline_assembly",
                   [](HostedModule &H) {
                     return textOf(readable(H).module().getModuleInlineAsm());
                   })
      .def("function", &functionNamed, nb::arg("name"),
           nb::sig("def function(self, name: str) -> Function | None"))
      .def("global_value", &globalNamed, nb::arg("name"),
           nb::sig("def global_value(self, name: str) -> GlobalValue | None"));
}

} // namespace passpilot
