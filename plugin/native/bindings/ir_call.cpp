// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "core.h"
#include "define.h"

#include "../hosted/analyses.h"
#include "llvm/IR/Instructions.h"

namespace passpilot {

using llvm::CallBase;
using llvm::InlineCost;

static const char *tailKindOf(const CallBase &CB) {
  auto *C = llvm::dyn_cast<llvm::CallInst>(&CB);
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
  const CallBase &CB = of(R);
  if (I >= CB.arg_size())
    throw nb::index_error(("call: expected an argument below " +
                           std::to_string(CB.arg_size()) + ", got " +
                           std::to_string(I))
                              .c_str());
  return attributeTexts(CB.getAttributes().getParamAttrs(I));
}

static void bindInlineCost(nb::module_ &M) {
  nb::class_<InlineCost> C(M, "InlineCost", "LLVM's estimate for a call site.");
  Properties P(C);
  P("cost", "The cost; None if LLVM always or never inlines the call.",
    [](InlineCost &IC) {
      return IC.isVariable() ? std::optional(IC.getCost()) : std::nullopt;
    });
  P("threshold", "The cost below which LLVM inlines the call.",
    [](InlineCost &IC) {
      return IC.isVariable() ? std::optional(IC.getThreshold()) : std::nullopt;
    });
  P("is_always", "Whether LLVM inlines the call whatever it costs.",
    [](InlineCost &IC) { return IC.isAlways(); });
  P("is_never", "Whether LLVM must not or will not inline the call.",
    [](InlineCost &IC) { return IC.isNever(); });
  P("reason", "LLVM's reason, if it gives one.", [](InlineCost &IC) {
    return IC.getReason() ? std::optional<std::string>(IC.getReason())
                          : std::nullopt;
  });
  C.def("__bool__", [](InlineCost &IC) { return static_cast<bool>(IC); });
}

static void bindMutations(nb::class_<CallRef, InstructionRef> &C) {
  method(C, "inline", "Replaces the call by the callee's body.", &inlineCall);
  attributeMethods(C, llvm::AttributeList::FunctionIndex, "add_attribute",
                   "Adds one attribute of the call, in assembly syntax.",
                   "remove_attribute",
                   "Removes an attribute of the call by its name.");
  C.def(
       "add_argument_attribute",
       [](CallRef &R, unsigned I, const std::string &Text) {
         addAttribute(*R.O.H, of(R), ofArgument(I), Text);
       },
       nb::arg("index"), nb::arg("text"),
       "Adds an attribute of one argument, in assembly syntax.")
      .def(
          "remove_argument_attribute",
          [](CallRef &R, unsigned I, const std::string &Name) {
            removeAttribute(*R.O.H, of(R), ofArgument(I), Name);
          },
          nb::arg("index"), nb::arg("name"),
          "Removes an attribute of one argument by its name.");
}

void bindCall(nb::module_ &M) {
  bindInlineCost(M);
  nb::class_<CallRef, InstructionRef> C(M, "CallBase",
                                        "A call, invoke or callbr.");
  bindMutations(C);
  Properties P(C);
  P("inline_cost", "The cost of a direct call of a function with a body.",
    [](CallRef &R) { return inlineCostOf(*R.O.H, of(R)); });
  P.optional(
      "callee",
      "The directly called function, if its type matches the call's; else "
      "None.",
      [](CallBase &CB) { return CB.getCalledFunction(); });
  P("called_operand",
    "What is called: a function, a pointer, or inline assembly.",
    [](CallBase &CB) { return CB.getCalledOperand(); });
  P("caller", "The function that the call is in.",
    [](CallBase &CB) { return CB.getCaller(); });
  P("function_type", "The type of the called function.",
    [](CallBase &CB) { return CB.getFunctionType(); });
  P("arguments", "The arguments, without bundle operands and callee.",
    [](CallBase &CB) { return llvm::map_range(CB.args(), usedValue); });
  P("attributes", "The attributes of the call itself, in assembly syntax.",
    [](CallBase &CB) {
      return attributeTexts(CB.getAttributes().getFnAttrs());
    });
  P("return_attributes",
    "The attributes of the returned value, in assembly syntax.",
    [](CallBase &CB) {
      return attributeTexts(CB.getAttributes().getRetAttrs());
    });
  C.def("argument_attributes", &argumentAttributesOf, nb::arg("index"),
        "The attributes of an argument, in assembly syntax.");
  P("calling_convention", "The assembly's word; \"ccc\" if there is none.",
    [](CallBase &CB) { return callingConvText(CB.getCallingConv()); });
  P("tail_kind", "\"tail\", \"musttail\", \"notail\" or empty.",
    [](CallBase &CB) { return tailKindOf(CB); });
  P("is_indirect", "Whether a pointer is called that is no known function.",
    [](CallBase &CB) { return CB.isIndirectCall(); });
  P("is_inline_asm", "Whether inline assembly is called.",
    [](CallBase &CB) { return CB.isInlineAsm(); });
}

} // namespace passpilot
