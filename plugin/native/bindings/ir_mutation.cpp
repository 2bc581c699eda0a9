// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The methods of the IR classes that change the IR.

#include "interpreter.h"
#include "ir.h"

#include "../hosted/mutations.h"
#include "llvm/Analysis/LoopInfo.h"

namespace passpilot {

llvm::Value &operandIn(const Owner &O, const ValueRef &R, const char *What) {
  if (R.O.H != O.H)
    refuse(What, nullptr, "a value of this module", "one of another module");
  return R.get(ValueRef::Noun);
}

llvm::Type &typeIn(const Owner &O, const TypeRef &R, const char *What) {
  if (R.O.H != O.H)
    refuse(What, nullptr, "a type of this module", "one of another module");
  return R.type();
}

static llvm::BasicBlock &blockIn(const BlockRef &R, const BlockRef &Other) {
  return llvm::cast<llvm::BasicBlock>(operandIn(R.O, Other, "block"));
}

static constexpr unsigned OfFunction = llvm::AttributeList::FunctionIndex;
static constexpr unsigned OfReturn = llvm::AttributeList::ReturnIndex;
static unsigned ofArgument(unsigned I) {
  return llvm::AttributeList::FirstArgIndex + std::min(I, 1u << 30);
}

void bindValueMutations(nb::class_<ValueRef> &C) {
  C.def(
      "replace_all_uses_with",
      [](ValueRef &R, const ValueRef &Other) {
        replaceAllUses(*R.O.H, of(R), operandIn(R.O, Other, "replace"));
      },
      nb::arg("other"),
      "Replaces an instruction or argument by a value of its type that is "
      "computed before every use.");
}

void bindArgumentMutations(nb::class_<ArgumentRef, ValueRef> &C) {
  C.def(
       "add_attribute",
       [](ArgumentRef &R, const std::string &Text) {
         llvm::Argument &A = of(R);
         addAttribute(*R.O.H, *A.getParent(), ofArgument(A.getArgNo()), Text);
       },
       nb::arg("text"), "Adds one attribute in assembly syntax: \"noalias\".")
      .def(
          "remove_attribute",
          [](ArgumentRef &R, const std::string &Name) {
            llvm::Argument &A = of(R);
            removeAttribute(*R.O.H, *A.getParent(), ofArgument(A.getArgNo()),
                            Name);
          },
          nb::arg("name"), "Removes an attribute by its name.");
}

void bindGlobalMutations(nb::class_<GlobalRef, ConstantRef> &C) {
  C.def(
      "erase", [](GlobalRef &R) { erase(*R.O.H, of(R)); },
      "Erases it; it must have no uses and be invisible outside the module.");
}

void setLinkageOf(GlobalRef &R, const std::string &Text) {
  setLinkage(*R.O.H, of(R), Text);
}
void setVisibilityOf(GlobalRef &R, const std::string &Text) {
  setVisibility(*R.O.H, of(R), Text);
}
void setCallingConventionOf(FunctionRef &R, const std::string &Text) {
  setCallingConvention(*R.O.H, of(R), Text);
}

static bool run(HostedModule &H, llvm::Function *F, const std::string &Text) {
  ReleasedGIL NoGIL; // LLVM works; the module is reserved
  return runPipeline(H, F, Text);
}

static void bindPasses(nb::class_<FunctionRef, GlobalRef> &C) {
  C.def(
       "run",
       [](FunctionRef &R, const std::string &Pipeline) {
         return run(*R.O.H, &of(R), Pipeline);
       },
       nb::arg("pipeline"),
       "Runs LLVM's function passes on it; returns whether any changed it.")
      .def(
          "skip",
          [](FunctionRef &R, const std::string &Name) {
            skipPass(*R.O.H, of(R), Name);
          },
          nb::arg("pass_name"),
          "Lets LLVM skip one of its function passes on it, such as "
          "\"slp-vectorizer\", for the rest of the compilation. Passes that "
          "LLVM requires run all the same.");
}

void bindFunctionMutations(nb::class_<FunctionRef, GlobalRef> &C) {
  bindPasses(C);
  C.def(
       "add_attribute",
       [](FunctionRef &R, const std::string &Text) {
         addAttribute(*R.O.H, of(R), OfFunction, Text);
       },
       nb::arg("text"),
       "Adds one attribute in assembly syntax: \"noinline\", "
       "\"\\\"key\\\"=\\\"value\\\"\".")
      .def(
          "remove_attribute",
          [](FunctionRef &R, const std::string &Name) {
            removeAttribute(*R.O.H, of(R), OfFunction, Name);
          },
          nb::arg("name"), "Removes an attribute by its name.")
      .def(
          "add_return_attribute",
          [](FunctionRef &R, const std::string &Text) {
            addAttribute(*R.O.H, of(R), OfReturn, Text);
          },
          nb::arg("text"), "Adds an attribute of the result.")
      .def(
          "remove_return_attribute",
          [](FunctionRef &R, const std::string &Name) {
            removeAttribute(*R.O.H, of(R), OfReturn, Name);
          },
          nb::arg("name"), "Removes one of the result's attributes.")
      .def(
          "set_metadata",
          [](FunctionRef &R, const std::string &Kind, nb::object Value) {
            setMetadata(*R.O.H, of(R), Kind,
                        nodeIn(R.O, Value, "set_metadata"));
          },
          nb::arg("kind"), nb::arg("value").none(),
          nb::sig("def set_metadata(self, kind: str, value: Sequence[object] | "
                  "Metadata | None) -> None"),
          "Sets the attachment of a kind; None removes it.")
      .def(
          "add_block",
          [](FunctionRef &R, const std::string &Name) {
            return valueOf(R.O, &addBlock(*R.O.H, of(R), Name));
          },
          nb::arg("name") = "",
          nb::sig("def add_block(self, name: str = '') -> BasicBlock"),
          "Appends a block that holds `unreachable`.")
      .def(
          "clone",
          [](FunctionRef &R, const std::string &Name) {
            return valueOf(R.O, &clone(*R.O.H, of(R), Name));
          },
          nb::arg("name"), nb::sig("def clone(self, name: str) -> Function"),
          "Makes a copy with internal linkage.");
}

void bindBlockMutations(nb::class_<BlockRef, ValueRef> &C) {
  C.def(
       "erase", [](BlockRef &R) { erase(*R.O.H, of(R)); },
       "Erases the block, which must have no predecessors.")
      .def(
          "set_branch",
          [](BlockRef &R, const BlockRef &To) {
            setBranch(*R.O.H, of(R), blockIn(R, To));
          },
          nb::arg("to"), "Replaces the terminator by a branch.")
      .def(
          "set_conditional_branch",
          [](BlockRef &R, const ValueRef &Condition, const BlockRef &IfTrue,
             const BlockRef &IfFalse) {
            setConditionalBranch(*R.O.H, of(R),
                                 operandIn(R.O, Condition, "condition"),
                                 blockIn(R, IfTrue), blockIn(R, IfFalse));
          },
          nb::arg("condition"), nb::arg("if_true"), nb::arg("if_false"),
          "Replaces the terminator by a conditional branch.")
      .def(
          "set_return",
          [](BlockRef &R, const ValueRef *Value) {
            setReturn(*R.O.H, of(R),
                      Value ? &operandIn(R.O, *Value, "set_return") : nullptr);
          },
          nb::arg("value") = nb::none(),
          "Replaces the terminator by a return; None returns void.")
      .def(
          "set_unreachable", [](BlockRef &R) { setUnreachable(*R.O.H, of(R)); },
          "Replaces the terminator by \"unreachable\".");
}

void bindInstructionMutations(nb::class_<InstructionRef, ValueRef> &C) {
  C.def(
       "erase", [](InstructionRef &R) { erase(*R.O.H, of(R)); },
       "Erases the instruction, which must have no users and be no terminator.")
      .def(
          "move_before",
          [](InstructionRef &R, const InstructionRef &Other) {
            operandIn(R.O, Other, "move_before");
            moveBefore(*R.O.H, of(R), of(Other));
          },
          nb::arg("other"),
          "Moves the instruction before another one of its function.")
      .def(
          "set_incoming",
          [](InstructionRef &R, const BlockRef &From, const ValueRef &Value) {
            setIncoming(*R.O.H, of(R),
                        {&operandIn(R.O, Value, "set_incoming"),
                         llvm::cast<llvm::BasicBlock>(
                             &operandIn(R.O, From, "set_incoming"))});
          },
          nb::arg("block"), nb::arg("value"),
          "Replaces the value that a phi has from a predecessor.")
      .def(
          "split_before",
          [](InstructionRef &R, const std::string &Name) {
            return valueOf(R.O, &splitBefore(*R.O.H, of(R), Name));
          },
          nb::arg("name") = "",
          nb::sig("def split_before(self, name: str = '') -> BasicBlock"),
          "Splits the block before it; returns the new block, which begins "
          "with it.")
      .def(
          "set_metadata",
          [](InstructionRef &R, const std::string &Kind, nb::object Value) {
            setMetadata(*R.O.H, of(R), Kind,
                        nodeIn(R.O, Value, "set_metadata"));
          },
          nb::arg("kind"), nb::arg("value").none(),
          nb::sig("def set_metadata(self, kind: str, value: Sequence[object] | "
                  "Metadata | None) -> None"),
          "Sets the attachment of a kind; None removes it.");
}

void bindCallMutations(nb::class_<CallRef, InstructionRef> &C) {
  C.def(
       "inline", [](CallRef &R) { inlineCall(*R.O.H, of(R)); },
       "Replaces the call by the callee's body.")
      .def(
          "add_attribute",
          [](CallRef &R, const std::string &Text) {
            addAttribute(*R.O.H, of(R), OfFunction, Text);
          },
          nb::arg("text"),
          "Adds one attribute of the call, in assembly syntax.")
      .def(
          "remove_attribute",
          [](CallRef &R, const std::string &Name) {
            removeAttribute(*R.O.H, of(R), OfFunction, Name);
          },
          nb::arg("name"), "Removes an attribute of the call by its name.")
      .def(
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

void bindLoopMutations(nb::class_<LoopRef> &C) {
  C.def(
      "set_metadata",
      [](LoopRef &R, nb::object Value) {
        llvm::Loop &L = R.loop();
        llvm::MDNode *Node = nodeIn(R.O, Value, "set_metadata");
        llvm::SmallVector<llvm::BasicBlock *, 4> Latches;
        L.getLoopLatches(Latches);
        for (llvm::BasicBlock *B : Latches)
          setMetadata(*R.O.H, *B->getTerminator(), "llvm.loop", Node);
      },
      nb::arg("value").none(),
      nb::sig("def set_metadata(self, value: Sequence[object] | None) -> None"),
      "(..., (\"llvm.loop.unroll.count\", 4)); None removes it.");
}

void bindModuleMutations(nb::class_<HostedModule> &C) {
  C.def(
       "run",
       [](HostedModule &H, const std::string &Pipeline) {
         return run(readable(H), nullptr, Pipeline);
       },
       nb::arg("pipeline"))
      .def(
          "type",
          [](HostedModule &H, const std::string &Text) {
            return TypeRef{ownerOf(H), &typeOf(readable(H), Text)};
          },
          nb::arg("text"))
      .def(
          "constant",
          [](HostedModule &H, const std::string &Text) {
            return valueOf(ownerOf(H), &constantOf(readable(H), Text));
          },
          nb::arg("text"), nb::sig("def constant(self, text: str) -> Constant"))
      .def(
          "declare",
          [](HostedModule &H, const std::string &Name, const TypeRef &T) {
            const Owner O = ownerOf(H);
            return valueOf(
                O, &declare(readable(H), Name, typeIn(O, T, "declare")));
          },
          nb::arg("name"), nb::arg("type"),
          nb::sig("def declare(self, name: str, type: Type) -> Function"))
      .def(
          "add_global",
          [](HostedModule &H, const std::string &Name, const TypeRef &T,
             const ConstantRef *Initializer, bool IsConstant) {
            const Owner O = ownerOf(H);
            llvm::Type &Type = typeIn(O, T, "add_global");
            auto *Value = Initializer ? &llvm::cast<llvm::Constant>(operandIn(
                                            O, *Initializer, "add_global"))
                                      : nullptr;
            return valueOf(
                O, &addGlobal(readable(H), Name, Type, Value, IsConstant));
          },
          nb::arg("name"), nb::arg("type"), nb::arg("initializer").none(),
          nb::arg("is_constant"),
          nb::sig("def add_global(self, name: str, type: Type, initializer: "
                  "Constant | None, is_constant: bool) -> GlobalVariable"));
}

} // namespace passpilot
