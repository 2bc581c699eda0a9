// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "core.h"
#include "define.h"

#include "llvm/IR/Instruction.h"

namespace passpilot {

using llvm::Argument;
using llvm::Constant;
using llvm::Value;

Owner ownerOf(HostedModule &H) { return {nb::find(H), &H}; }

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

llvm::Value &operandIn(const Owner &O, const ValueRef &R, const char *What) {
  if (R.O.H != O.H)
    refuse(What, nullptr, "a value of this module", "one of another module");
  return R.get(Noun<Value>);
}

void refuseOperand(const char *Asker, const char *Expected,
                   const std::string &Got) {
  throw InputError(std::string(Asker) + ": expected " + Expected + ", got " +
                   Got);
}

static std::vector<llvm::Value *> usersOf(llvm::Value &V) {
  if (V.hasUseList())
    return {V.user_begin(), V.user_end()};
  return {};
}

static std::optional<double> numberOf(const Constant &C) {
  auto *Number = llvm::dyn_cast<llvm::ConstantFP>(&C);
  if (!Number)
    return std::nullopt;
  llvm::APFloat Value = Number->getValueAPF();
  bool LosesInfo = false;
  Value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven,
                &LosesInfo);
  return Value.convertToDouble();
}

static std::optional<nb::bytes> dataOf(const Constant &C) {
  auto *Sequence = llvm::dyn_cast<llvm::ConstantDataSequential>(&C);
  if (!Sequence)
    return std::nullopt;
  llvm::StringRef Data = Sequence->getRawDataValues();
  return nb::bytes(Data.data(), Data.size());
}

static std::optional<llvm::StringRef> opcodeOf(const Constant &C) {
  auto *E = llvm::dyn_cast<llvm::ConstantExpr>(&C);
  return E ? std::optional<llvm::StringRef>(E->getOpcodeName()) : std::nullopt;
}

static void bindConstant(nb::module_ &M) {
  nb::class_<ConstantRef, ValueRef> Class(
      M, "Constant",
      "A constant, or another value that is known before the program runs.");
  Properties P(Class);
  P(
      "integer",
      "The value of an integer: signed, and i1 true as 1; else None.",
      [](Constant &C) { return integerOf(C); },
      nb::sig("def integer(self) -> int | None"));
  P("number", "A floating-point constant, rounded to double.",
    [](Constant &C) { return numberOf(C); });
  P("data",
    "The bytes of an array or vector of plain numbers, in the byte order of "
    "this machine.",
    [](Constant &C) { return dataOf(C); });
  P("opcode", "The opcode of a constant expression.",
    [](Constant &C) { return opcodeOf(C); });
  P("operands", "The operands of a constant expression or an aggregate.",
    [](Constant &C) { return llvm::map_range(C.operands(), usedValue); });
  P("is_null", "Whether all its bits are zero.",
    [](Constant &C) { return C.isNullValue(); });
  P("is_undef", "Whether it is undef or poison.",
    [](Constant &C) { return llvm::isa<llvm::UndefValue>(C); });
  P("is_poison", "Whether it is poison.",
    [](Constant &C) { return llvm::isa<llvm::PoisonValue>(C); });
}

static void bindArgument(nb::module_ &M) {
  nb::class_<ArgumentRef, ValueRef> C(M, "Argument",
                                      "A formal argument of a function.");
  method(
      C, "add_attribute", "Adds one attribute in assembly syntax: \"noalias\".",
      +[](HostedModule &H, Argument &A, const std::string &Text) {
        addAttribute(H, *A.getParent(), ofArgument(A.getArgNo()), Text);
      },
      nb::arg("text"));
  method(
      C, "remove_attribute", "Removes an attribute by its name.",
      +[](HostedModule &H, Argument &A, const std::string &Name) {
        removeAttribute(H, *A.getParent(), ofArgument(A.getArgNo()), Name);
      },
      nb::arg("name"));
  Properties P(C);
  P("index", "The position among the arguments, from 0.",
    [](Argument &A) { return A.getArgNo(); });
  P("function", "The function that takes the argument.",
    [](Argument &A) { return A.getParent(); });
  P("attributes", "The attributes, in assembly syntax.",
    [](Argument &A) { return attributeTexts(A.getAttributes()); });
}

void bindValue(nb::module_ &M) {
  nb::class_<ValueRef> C(M, "Value",
                         "A value of LLVM's: the base of instructions, "
                         "arguments, blocks and constants.");
  method(C, "replace_all_uses_with",
         "Replaces an instruction or argument by a value of its type that is "
         "computed before every use.",
         &replaceAllUses, nb::arg("other"));
  Properties P(C);
  P("type", "The type of the value.", [](Value &V) { return V.getType(); });
  P("name", "The name; empty if it has none.",
    [](Value &V) { return V.getName(); });
  P("users", "The values that use it, once per use.",
    [](Value &V) { return usersOf(V); });
  P("is_valid", "False once the value has been erased.",
    [](ValueRef &R) { return R.peek() != nullptr; });
  P("module", "The passpilot.Module.",
    [](ValueRef &R) { return moduleOf(R.O); });
  P("as_operand", "The value as a printed operand: \"i32 %x\".",
    [](Value &V) { return text(printedOperand(V)); });
  C.def("__str__", [](ValueRef &R) {
     return text(printed(of(R)));
   }).def("__repr__", [](nb::handle Self) {
    const ValueRef &R = nb::cast<const ValueRef &>(Self);
    const std::string Class =
        nb::cast<std::string>(Self.type().attr("__name__"));
    if (!R.peek() || R.O.H->busy())
      return text("<" + Class + ", erased>");
    return text("<" + Class + " " + printedOperand(*R.peek()) + ">");
  });
  defineIdentity(
      C, [](const ValueRef &R) { return R.Key; },
      [](const ValueRef &A, const ValueRef &B) {
        return &A == &B || (A.peek() && B.peek());
      });
  bindArgument(M);
  bindConstant(M);
}

} // namespace passpilot
