// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "core.h"
#include "integer.h"
#include "python_error.h"
#include "view.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Module.h"

namespace passpilot {

namespace {

struct CallSite : View {
  using View::View;
  llvm::CallBase &site() const {
    return static_cast<CallQuestion &>(question("call-site")).Site;
  }
};
struct FunctionView : CallSite {
  llvm::Function *F;
  FunctionView(const CallSite &S, llvm::Function *F) : CallSite(S), F(F) {}
  llvm::Function &function() const {
    site();
    return *F;
  }
};
struct ArgumentView : CallSite {
  unsigned Index;
  ArgumentView(const CallSite &S, unsigned I) : CallSite(S), Index(I) {}
  llvm::Value &value() const { return *site().getArgOperand(Index); }
};

FunctionView functionOf(const CallSite &S, llvm::Function *F) {
  return FunctionView(S, F);
}

std::string placeText(const SourceLocation &L) {
  return L.File + ":" + std::to_string(L.Line) + ":" + std::to_string(L.Column);
}

std::vector<ArgumentView> argumentsOf(const CallSite &S) {
  std::vector<ArgumentView> V;
  for (unsigned I = 0, E = S.site().arg_size(); I < E; ++I)
    V.push_back(ArgumentView(S, I));
  return V;
}

/// "f -> g at a.c:3:7", without the place if there is no debug information.
std::string described(const CallSite &S) {
  const llvm::CallBase &Call = S.site();
  const auto Chain = locationChain(Call);
  std::string Text = Call.getCaller()->getName().str() + " -> " +
                     Call.getCalledFunction()->getName().str();
  return Chain.empty() ? Text : Text + " at " + placeText(Chain.front());
}

void bindSourceLocation(nb::module_ &M) {
  nb::class_<SourceLocation>(M, "SourceLocation",
                             "A place in the source, from debug information.")
      .def_prop_ro(
          "file", [](SourceLocation &L) { return text(L.File); },
          "The path as the debug information has it.")
      .def_prop_ro(
          "function", [](SourceLocation &L) { return text(L.Function); },
          "The function that the source line belongs to.")
      .def_ro("line", &SourceLocation::Line, "The line, from 1; 0 if unknown.")
      .def_ro("column", &SourceLocation::Column,
              "The column, from 1; 0 if unknown.")
      .def("__repr__", &placeText);
}

void bindCallSiteFunction(nb::module_ &M) {
  nb::class_<FunctionView>(M, "CallSiteFunction",
                           nb::type_slots(ViewSlots<FunctionView>))
      .def_prop_ro(
          "name",
          [](FunctionView &V) { return text(V.function().getName().str()); })
      .def_prop_ro("is_declaration",
                   [](FunctionView &V) { return V.function().isDeclaration(); })
      .def_prop_ro("linkage",
                   [](FunctionView &V) { return linkageText(V.function()); })
      .def_prop_ro("attributes",
                   [](FunctionView &V) {
                     return attributeTexts(
                         V.function().getAttributes().getFnAttrs());
                   })
      .def_prop_ro("argument_count",
                   [](FunctionView &V) { return V.function().arg_size(); })
      .def_prop_ro("block_count",
                   [](FunctionView &V) { return V.function().size(); })
      .def_prop_ro(
          "instruction_count",
          [](FunctionView &V) { return V.function().getInstructionCount(); })
      .def_prop_ro("opcode_counts",
                   [](FunctionView &V) { return opcodeCounts(V.function()); })
      .def("__str__",
           [](FunctionView &V) { return text(printed(V.function())); })
      .def("__repr__", [](FunctionView &V) {
        return text("<function " + V.function().getName().str() + ">");
      });
}

void bindArgument(nb::module_ &M) {
  nb::class_<ArgumentView>(M, "CallSiteArgument",
                           nb::type_slots(ViewSlots<ArgumentView>))
      .def_ro("index", &ArgumentView::Index)
      .def_prop_ro(
          "is_constant",
          [](ArgumentView &V) { return llvm::isa<llvm::Constant>(V.value()); })
      .def_prop_ro(
          "integer", [](ArgumentView &V) { return integerOf(V.value()); },
          nb::sig("def integer(self) -> int | None"))
      .def_prop_ro("attributes",
                   [](ArgumentView &V) {
                     return attributeTexts(
                         V.site().getAttributes().getParamAttrs(V.Index));
                   })
      .def("__str__",
           [](ArgumentView &V) { return text(printedOperand(V.value())); });
}

void bindSite(nb::module_ &M) {
  nb::class_<CallSite>(M, "CallSite", nb::type_slots(ViewSlots<CallSite>))
      .def_prop_ro(
          "caller",
          [](CallSite &S) { return functionOf(S, S.site().getCaller()); })
      .def_prop_ro("callee",
                   [](CallSite &S) {
                     return functionOf(S, S.site().getCalledFunction());
                   })
      .def_prop_ro("arguments", &argumentsOf)
      .def_prop_ro("attributes",
                   [](CallSite &S) {
                     return attributeTexts(
                         S.site().getAttributes().getFnAttrs());
                   })
      .def_prop_ro("debug_location",
                   [](CallSite &S) -> std::optional<SourceLocation> {
                     auto Chain = locationChain(S.site());
                     return Chain.empty() ? std::nullopt
                                          : std::optional(Chain.front());
                   })
      .def_prop_ro("inlined_at",
                   [](CallSite &S) {
                     auto Chain = locationChain(S.site());
                     if (!Chain.empty())
                       Chain.erase(Chain.begin());
                     return Chain;
                   })
      .def_prop_ro("block_frequency",
                   [](CallSite &S) {
                     return S.A->shapeOf(*S.site().getCaller())
                         .relativeFrequency(*S.site().getParent());
                   })
      .def_prop_ro("loop_depth",
                   [](CallSite &S) {
                     return S.A->shapeOf(*S.site().getCaller())
                         .loopDepth(*S.site().getParent());
                   })
      .def_prop_ro("ordinal", [](CallSite &S) { return S.Ordinal; })
      .def("module_text",
           [](CallSite &S) {
             std::string Text;
             llvm::raw_string_ostream OS(Text);
             S.site().getModule()->print(OS, nullptr);
             return text(Text);
           })
      .def_prop_ro("text", [](CallSite &S) { return text(printed(S.site())); })
      .def("__str__", [](CallSite &S) { return text(described(S)); });
}

} // namespace

void bindCallSite(nb::module_ &M) {
  bindSourceLocation(M);
  bindCallSiteFunction(M);
  bindArgument(M);
  bindSite(M);
  siteMakers()["inline"] = [](nb::object Owner, PyAdvisor &A) {
    return nb::cast(CallSite(std::move(Owner), A));
  };
}

} // namespace passpilot
