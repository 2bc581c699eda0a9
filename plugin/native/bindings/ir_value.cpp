// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "core.h"
#include "ir.h"

#include "llvm/IR/Instruction.h"

namespace passpilot {

Owner ownerOf(HostedModule &H) { return {nb::find(H), &H}; }

nb::str textOf(llvm::StringRef S) {
  return nb::steal<nb::str>(PyUnicode_DecodeUTF8(
      S.data(), static_cast<Py_ssize_t>(S.size()), "replace"));
}

ValueRef::~ValueRef() { O.H->handles().release(N, O.H->busy()); }

llvm::Value &ValueRef::get(const char *Asker) const {
  readable(*O.H);
  if (llvm::Value *V = peek())
    return *V;
  raiseError("StaleViewError",
             std::string(Asker) + " of module " +
                 O.H->module().getModuleIdentifier() +
                 ": expected one that is still there, got one that has been "
                 "erased since; look it up again");
}

/// Makes an instance of \p Ref's class in place.
template <typename Ref> static nb::object make(const Owner &O, llvm::Value &V) {
  static const nb::handle Type = nb::type<Ref>();
  nb::object Made = nb::inst_alloc(Type);
  new (nb::inst_ptr<Ref>(Made)) Ref(O, V);
  nb::inst_mark_ready(Made);
  return Made;
}

nb::object valueOf(const Owner &O, llvm::Value *V) {
  if (!V)
    return nb::none();
  if (llvm::isa<llvm::Instruction>(V))
    return llvm::isa<llvm::CallBase>(V) ? make<CallRef>(O, *V)
                                        : make<InstructionRef>(O, *V);
  switch (V->getValueID()) {
  case llvm::Value::ArgumentVal:
    return make<ArgumentRef>(O, *V);
  case llvm::Value::BasicBlockVal:
    return make<BlockRef>(O, *V);
  case llvm::Value::FunctionVal:
    return make<FunctionRef>(O, *V);
  case llvm::Value::GlobalVariableVal:
    return make<VariableRef>(O, *V);
  case llvm::Value::GlobalAliasVal:
    return make<AliasRef>(O, *V);
  case llvm::Value::GlobalIFuncVal:
    return make<GlobalRef>(O, *V);
  default:
    return llvm::isa<llvm::Constant>(V) ? make<ConstantRef>(O, *V)
                                        : make<ValueRef>(O, *V);
  }
}

/// The handle in \p Other; null if it is none.
static const ValueRef *handleIn(nb::handle Other) {
  const ValueRef *R = nullptr;
  return nb::try_cast<const ValueRef *>(Other, R, false) ? R : nullptr;
}

static bool equals(const ValueRef &A, nb::handle Other) {
  const ValueRef *B = handleIn(Other);
  return B && (B == &A || (B->Key == A.Key && A.peek() && B->peek()));
}

static nb::list usersOf(const ValueRef &R) {
  llvm::Value &V = of(R);
  nb::list L;
  if (V.hasUseList())
    for (llvm::User *U : V.users())
      L.append(valueOf(R.O, U));
  return L;
}

static nb::list operandsOf(const ConstantRef &R) {
  nb::list L;
  for (const llvm::Use &U : of(R).operands())
    L.append(valueOf(R.O, U.get()));
  return L;
}

static nb::object numberOf(const ConstantRef &R) {
  auto *C = llvm::dyn_cast<llvm::ConstantFP>(&of(R));
  if (!C)
    return nb::none();
  llvm::APFloat Value = C->getValueAPF();
  bool LosesInfo = false;
  Value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven,
                &LosesInfo);
  return nb::float_(Value.convertToDouble());
}

static nb::object dataOf(const ConstantRef &R) {
  auto *C = llvm::dyn_cast<llvm::ConstantDataSequential>(&of(R));
  if (!C)
    return nb::none();
  llvm::StringRef Data = C->getRawDataValues();
  return nb::bytes(Data.data(), Data.size());
}

static nb::object opcodeOf(const ConstantRef &R) {
  auto *C = llvm::dyn_cast<llvm::ConstantExpr>(&of(R));
  return C ? nb::object(nb::str(C->getOpcodeName())) : nb::none();
}

static void bindConstant(nb::module_ &M) {
  nb::class_<ConstantRef, ValueRef>(
      M, "Constant",
      "A constant, or another value that is known before the program runs.")
      .def_prop_ro(
          "integer", [](ConstantRef &R) { return integerOf(of(R)); },
          nb::sig("def integer(self) -> int | None"),
          "The value of an integer: signed, and i1 true as 1; else None.")
      .def_prop_ro("number", &numberOf,
                   nb::sig("def number(self) -> float | None"),
                   "A floating-point constant, rounded to double.")
      .def_prop_ro("data", &dataOf, nb::sig("def data(self) -> bytes | None"),
                   "The bytes of an array or vector of plain numbers, in the "
                   "byte order of this machine.")
      .def_prop_ro("opcode", &opcodeOf,
                   nb::sig("def opcode(self) -> str | None"),
                   "The opcode of a constant expression.")
      .def_prop_ro("operands", &operandsOf,
                   nb::sig("def operands(self) -> list[Value]"),
                   "The operands of a constant expression or an aggregate.")
      .def_prop_ro(
          "is_null", [](ConstantRef &R) { return of(R).isNullValue(); },
          "Whether all its bits are zero.")
      .def_prop_ro(
          "is_undef",
          [](ConstantRef &R) { return llvm::isa<llvm::UndefValue>(of(R)); },
          "Whether it is undef or poison.")
      .def_prop_ro(
          "is_poison",
          [](ConstantRef &R) { return llvm::isa<llvm::PoisonValue>(of(R)); },
          "Whether it is poison.");
}

static void bindArgument(nb::module_ &M) {
  nb::class_<ArgumentRef, ValueRef> C(M, "Argument",
                                      "A formal argument of a function.");
  bindArgumentMutations(C);
  C.def_prop_ro(
       "index", [](ArgumentRef &R) { return of(R).getArgNo(); },
       "The position among the arguments, from 0.")
      .def_prop_ro(
          "function",
          [](ArgumentRef &R) { return valueOf(R.O, of(R).getParent()); },
          nb::sig("def function(self) -> Function"),
          "The function that takes the argument.")
      .def_prop_ro(
          "attributes",
          [](ArgumentRef &R) { return attributeTexts(of(R).getAttributes()); },
          "The attributes, in assembly syntax.");
}

void bindValue(nb::module_ &M) {
  nb::class_<ValueRef> C(M, "Value",
                         "A value of LLVM's: the base of instructions, "
                         "arguments, blocks and constants.");
  bindValueMutations(C);
  C.def_prop_ro(
       "type", [](ValueRef &R) { return TypeRef{R.O, of(R).getType()}; },
       "The type of the value.")
      .def_prop_ro(
          "name", [](ValueRef &R) { return textOf(of(R).getName()); },
          "The name; empty if it has none.")
      .def_prop_ro("users", &usersOf, nb::sig("def users(self) -> list[Value]"),
                   "The values that use it, once per use.")
      .def_prop_ro(
          "is_valid", [](ValueRef &R) { return R.peek() != nullptr; },
          "False once the value has been erased.")
      .def_prop_ro(
          "module", [](ValueRef &R) { return moduleOf(R.O); },
          nb::sig("def module(self) -> object"), "The passpilot.Module.")
      .def_prop_ro(
          "as_operand", [](ValueRef &R) { return text(printedOperand(of(R))); },
          "The value as a printed operand: \"i32 %x\".")
      .def("__str__", [](ValueRef &R) { return text(printed(of(R))); })
      .def("__repr__",
           [](nb::handle Self) {
             const ValueRef &R = nb::cast<const ValueRef &>(Self);
             const std::string Class =
                 nb::cast<std::string>(Self.type().attr("__name__"));
             if (!R.peek() || R.O.H->busy())
               return text("<" + Class + ", erased>");
             return text("<" + Class + " " + printedOperand(*R.peek()) + ">");
           })
      .def("__eq__", &equals, nb::arg("other").none(),
           nb::sig("def __eq__(self, other: object) -> bool"))
      .def("__hash__", [](ValueRef &R) {
        return static_cast<Py_hash_t>(reinterpret_cast<uintptr_t>(R.Key) >> 4);
      });
  bindArgument(M);
  bindConstant(M);
}

} // namespace passpilot
