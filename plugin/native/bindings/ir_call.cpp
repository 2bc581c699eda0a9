// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "core.h"
#include "ir.h"

#include "llvm/IR/Instructions.h"

namespace passpilot {

static nb::list argumentsOf(const CallRef &R) {
  nb::list L;
  for (const llvm::Use &U : of(R).args())
    L.append(valueOf(R.O, U.get()));
  return L;
}

static const char *tailKindOf(const CallRef &R) {
  auto *C = llvm::dyn_cast<llvm::CallInst>(&of(R));
  switch (C ? C->getTailCallKind() : llvm::CallInst::TCK_None) {
  case llvm::CallInst::TCK_Tail:
    return "tail";
  case llvm::CallInst::TCK_MustTail:
    return "musttail";
  case llvm::CallInst::TCK_NoTail:
    return "notail";
  default:
    return "";
  }
}

static std::vector<std::string> argumentAttributesOf(const CallRef &R,
                                                     unsigned I) {
  const llvm::CallBase &CB = of(R);
  if (I >= CB.arg_size())
    throw nb::index_error(("call: expected an argument below " +
                           std::to_string(CB.arg_size()) + ", got " +
                           std::to_string(I))
                              .c_str());
  return attributeTexts(CB.getAttributes().getParamAttrs(I));
}

void bindCall(nb::module_ &M) {
  bindInlineCost(M);
  nb::class_<CallRef, InstructionRef> C(M, "CallBase",
                                        "A call, invoke or callbr.");
  bindCallAnalyses(C);
  bindCallMutations(C);
  C.def_prop_ro(
       "callee",
       [](CallRef &R) { return valueOf(R.O, of(R).getCalledFunction()); },
       nb::sig("def callee(self) -> Function | None"),
       "The directly called function, if its type matches the call's; else "
       "None.")
      .def_prop_ro(
          "called_operand",
          [](CallRef &R) { return valueOf(R.O, of(R).getCalledOperand()); },
          nb::sig("def called_operand(self) -> Value"),
          "What is called: a function, a pointer, or inline assembly.")
      .def_prop_ro(
          "caller", [](CallRef &R) { return valueOf(R.O, of(R).getCaller()); },
          nb::sig("def caller(self) -> Function"),
          "The function that the call is in.")
      .def_prop_ro(
          "function_type",
          [](CallRef &R) { return TypeRef{R.O, of(R).getFunctionType()}; },
          "The type of the called function.")
      .def_prop_ro("arguments", &argumentsOf,
                   nb::sig("def arguments(self) -> list[Value]"),
                   "The arguments, without bundle operands and callee.")
      .def_prop_ro(
          "attributes",
          [](CallRef &R) {
            return attributeTexts(of(R).getAttributes().getFnAttrs());
          },
          "The attributes of the call itself, in assembly syntax.")
      .def_prop_ro(
          "return_attributes",
          [](CallRef &R) {
            return attributeTexts(of(R).getAttributes().getRetAttrs());
          },
          "The attributes of the returned value, in assembly syntax.")
      .def("argument_attributes", &argumentAttributesOf, nb::arg("index"),
           "The attributes of an argument, in assembly syntax.")
      .def_prop_ro(
          "calling_convention",
          [](CallRef &R) { return callingConvText(of(R).getCallingConv()); },
          "The assembly's word; \"ccc\" if there is none.")
      .def_prop_ro("tail_kind", &tailKindOf,
                   "\"tail\", \"musttail\", \"notail\" or empty.")
      .def_prop_ro(
          "is_indirect", [](CallRef &R) { return of(R).isIndirectCall(); },
          "Whether a pointer is called that is no known function.")
      .def_prop_ro(
          "is_inline_asm", [](CallRef &R) { return of(R).isInlineAsm(); },
          "Whether inline assembly is called.");
}

} // namespace passpilot
