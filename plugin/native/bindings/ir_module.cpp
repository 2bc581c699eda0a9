// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "define.h"
#include "interpreter.h"

#include "../llvm/compat.h"

namespace passpilot {

using llvm::Module;

nb::object moduleOf(const Owner &O) {
  return nb::module_::import_("passpilot.plugin.module")
      .attr("Module")(O.Object);
}

static nb::dict namedMetadataOf(HostedModule &H) {
  const Owner O = ownerOf(H);
  nb::dict D;
  for (const llvm::NamedMDNode &N : readable(H).module().named_metadata()) {
    nb::list Nodes;
    for (unsigned I = 0, E = N.getNumOperands(); I < E; ++I)
      Nodes.append(metadataOf(O, N.getOperand(I)));
    D[text(N.getName())] = Nodes;
  }
  return D;
}

bool runPasses(HostedModule &H, llvm::Function *F, const std::string &Text) {
  ReleasedGIL NoGIL; // LLVM works; the module is reserved
  return runPipeline(H, F, Text);
}

static void bindMutations(nb::class_<HostedModule> &C) {
  C.def(
      "run",
      [](HostedModule &H, const std::string &Pipeline) {
        return runPasses(readable(H), nullptr, Pipeline);
      },
      nb::arg("pipeline"));
  method(
      C, "type", "",
      +[](HostedModule &H, Module &, const std::string &Text) -> llvm::Type & {
        return typeOf(H, Text);
      },
      nb::arg("text"));
  method(
      C, "constant", "",
      +[](HostedModule &H, Module &, const std::string &Text)
          -> llvm::Constant & { return constantOf(H, Text); },
      nb::arg("text"));
  method(
      C, "declare", "",
      +[](HostedModule &H, Module &, const std::string &Name,
          llvm::Type &T) -> llvm::Function & { return declare(H, Name, T); },
      nb::arg("name"), nb::arg("type"));
  method(
      C, "add_global", "",
      +[](HostedModule &H, Module &, const std::string &Name, llvm::Type &T,
          llvm::Constant *Initializer,
          bool IsConstant) -> llvm::GlobalVariable & {
        return addGlobal(H, Name, T, Initializer, IsConstant);
      },
      nb::arg("name"), nb::arg("type"), nb::arg("initializer").none(),
      nb::arg("is_constant"));
}

void bindIRModule(nb::class_<HostedModule> &C) {
  bindMutations(C);
  Properties P(C);
  P("functions", [](Module &M) { return llvm::make_pointer_range(M); });
  P("globals", [](Module &M) { return llvm::make_pointer_range(M.globals()); });
  P("aliases", [](Module &M) { return llvm::make_pointer_range(M.aliases()); });
  P("ifuncs", [](Module &M) { return llvm::make_pointer_range(M.ifuncs()); });
  P("named_metadata", "", &namedMetadataOf,
    nb::sig("def named_metadata(self) -> dict[str, list[object]]"));
  P("source_file",
    [](Module &M) -> llvm::StringRef { return M.getSourceFileName(); });
  P("inline_assembly", [](Module &M) { return inlineAssemblyOf(M); });
  C.def(
       "function",
       [](HostedModule &H, const std::string &Name) {
         return std::optional(pythonOf(H, of(H).getFunction(Name)));
       },
       nb::arg("name"))
      .def(
          "global_value",
          [](HostedModule &H, const std::string &Name) {
            return std::optional(pythonOf(H, of(H).getNamedValue(Name)));
          },
          nb::arg("name"));
}

} // namespace passpilot
