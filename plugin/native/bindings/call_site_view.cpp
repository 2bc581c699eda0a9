// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "core.h"
#include "define.h"
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
  nb::class_<SourceLocation> C(
      M, "SourceLocation", "A place in the source, from debug information.");
  Properties P(C);
  P("file", "The path as the debug information has it.",
    [](SourceLocation &L) { return text(L.File); });
  P("function", "The function that the source line belongs to.",
    [](SourceLocation &L) { return text(L.Function); });
  C.def_ro("line", &SourceLocation::Line, "The line, from 1; 0 if unknown.")
      .def_ro("column", &SourceLocation::Column,
              "The column, from 1; 0 if unknown.")
      .def("__repr__", &placeText);
}

llvm::Function &of(const FunctionView &V) { return V.function(); }
llvm::CallBase &of(const CallSite &S) { return S.site(); }

void bindCallSiteFunction(nb::module_ &M) {
  using llvm::Function;
  nb::class_<FunctionView> C(M, "CallSiteFunction",
                             nb::type_slots(GCSlots<FunctionView>));
  Properties P(C);
  P("name", [](Function &F) { return F.getName(); });
  P("is_declaration", [](Function &F) { return F.isDeclaration(); });
  P("linkage", [](Function &F) { return linkageText(F); });
  P("attributes",
    [](Function &F) { return attributeTexts(F.getAttributes().getFnAttrs()); });
  P("argument_count", [](Function &F) { return F.arg_size(); });
  P("block_count", [](Function &F) { return F.size(); });
  P("instruction_count", [](Function &F) { return F.getInstructionCount(); });
  P("opcode_counts", [](Function &F) { return opcodeCounts(F); });
  C.def("__str__", [](FunctionView &V) {
     return text(printed(of(V)));
   }).def("__repr__", [](FunctionView &V) {
    return text("<function " + of(V).getName().str() + ">");
  });
}

void bindArgument(nb::module_ &M) {
  nb::class_<ArgumentView> C(M, "CallSiteArgument",
                             nb::type_slots(GCSlots<ArgumentView>));
  C.def_ro("index", &ArgumentView::Index);
  Properties P(C);
  P("is_constant",
    [](ArgumentView &V) { return llvm::isa<llvm::Constant>(V.value()); });
  P(
      "integer", "", [](ArgumentView &V) { return integerOf(V.value()); },
      nb::sig("def integer(self) -> int | None"));
  P("attributes", [](ArgumentView &V) {
    return attributeTexts(V.site().getAttributes().getParamAttrs(V.Index));
  });
  C.def("__str__",
        [](ArgumentView &V) { return text(printedOperand(V.value())); });
}

void bindSite(nb::module_ &M) {
  using llvm::CallBase;
  nb::class_<CallSite> C(M, "CallSite", nb::type_slots(GCSlots<CallSite>));
  Properties P(C);
  P("caller",
    [](CallSite &S) { return FunctionView(S, S.site().getCaller()); });
  P("callee",
    [](CallSite &S) { return FunctionView(S, S.site().getCalledFunction()); });
  P("arguments", &argumentsOf);
  P("attributes", [](CallBase &CB) {
    return attributeTexts(CB.getAttributes().getFnAttrs());
  });
  P("debug_location", [](CallBase &CB) { return sourceLocation(CB); });
  P("inlined_at", [](CallBase &CB) { return inlinedAt(CB); });
  P("block_frequency", [](CallSite &S) {
    return S.A->shapeOf(*S.site().getCaller())
        .relativeFrequency(*S.site().getParent());
  });
  P("loop_depth", [](CallSite &S) {
    return S.A->shapeOf(*S.site().getCaller()).loopDepth(*S.site().getParent());
  });
  P("ordinal", [](CallSite &S) { return S.Ordinal; });
  C.def("module_text", [](CallSite &S) {
    std::string Text;
    llvm::raw_string_ostream OS(Text);
    S.site().getModule()->print(OS, nullptr);
    return text(Text);
  });
  P("text", [](CallBase &CB) { return text(printed(CB)); });
  C.def("__str__", [](CallSite &S) { return text(described(S)); });
}

} // namespace

void bindCallSite(nb::module_ &M) {
  bindSourceLocation(M);
  bindCallSiteFunction(M);
  bindArgument(M);
  bindSite(M);
  siteMakers()["inline"] = makeSite<CallSite>;
}

} // namespace passpilot
