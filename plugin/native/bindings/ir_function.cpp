// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "core.h"
#include "define.h"

#include "../hosted/analyses.h"
#include "../llvm/compat.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/IR/InstIterator.h"

namespace passpilot {

using llvm::Function;

static auto callersOf(const Function &F) {
  llvm::SmallSetVector<Function *, 8> Callers;
  for (const llvm::Use &U : F.uses())
    if (auto *CB = llvm::dyn_cast<llvm::CallBase>(U.getUser()))
      if (CB->isCallee(&U))
        Callers.insert(CB->getFunction());
  return Callers.takeVector();
}

static auto callSitesOf(Function &F) {
  std::vector<llvm::CallBase *> Calls;
  for (llvm::Instruction &I : llvm::instructions(F))
    if (auto *CB = llvm::dyn_cast<llvm::CallBase>(&I))
      Calls.push_back(CB);
  return Calls;
}

/// Throws unless \p V is a pointer that function \p F can refer to.
static void checkPointer(const Function &F, const llvm::Value &V) {
  const Function *In = nullptr;
  if (auto *I = llvm::dyn_cast<llvm::Instruction>(&V))
    In = I->getFunction();
  else if (auto *A = llvm::dyn_cast<llvm::Argument>(&V))
    In = A->getParent();
  if (!V.getType()->isPointerTy() || (In && In != &F))
    throw InputError("alias in function " + F.getName().str() +
                     ": expected a pointer of this function, got " +
                     printedOperand(V) +
                     (In && In != &F ? " of " + In->getName().str() : ""));
}

using Size = std::optional<uint64_t>;
static const char *aliasIn(const FunctionRef &R, const ValueRef &A,
                           const ValueRef &B, Size SizeA, Size SizeB) {
  Function &F = of(R);
  checkPointer(F, of(A));
  checkPointer(F, of(B));
  switch (aliasOf(*R.O.H, F, of(A), SizeA, of(B), SizeB)) {
  case llvm::AliasResult::NoAlias:
    return "no";
  case llvm::AliasResult::PartialAlias:
    return "partial";
  case llvm::AliasResult::MustAlias:
    return "must";
  default:
    return "may";
  }
}

static void bindAnalyses(nb::class_<FunctionRef, GlobalRef> &C) {
  Properties P(C);
  P("loops", "The loops, outer before inner ones.",
    [](FunctionRef &R) { return loopsOf(*R.O.H, of(R)).getLoopsInPreorder(); });
  P("properties", "LLVM's function properties, by LLVM's names.",
    [](FunctionRef &R) { return propertiesOf(*R.O.H, of(R)); });
  C.def("alias", &aliasIn, nb::arg("a"), nb::arg("b"),
        nb::arg("size_a") = nb::none(), nb::arg("size_b") = nb::none(),
        "Whether two pointers alias: \"no\", \"may\", \"partial\" or "
        "\"must\". Sizes are in bytes, None if unknown.");
}

static void bindMutations(nb::class_<FunctionRef, GlobalRef> &C) {
  C.def(
      "run",
      [](FunctionRef &R, const std::string &Pipeline) {
        return runPasses(*R.O.H, &of(R), Pipeline);
      },
      nb::arg("pipeline"),
      "Runs LLVM's function passes on it; returns whether any changed it.");
  method(C, "skip",
         "Lets LLVM skip one of its function passes on it, such as "
         "\"slp-vectorizer\", for the rest of the compilation. Passes that "
         "LLVM requires run all the same.",
         &skipPass, nb::arg("pass_name"));
  attributeMethods(C, llvm::AttributeList::FunctionIndex, "add_attribute",
                   "Adds one attribute in assembly syntax: \"noinline\", "
                   "\"\\\"key\\\"=\\\"value\\\"\".",
                   "remove_attribute", "Removes an attribute by its name.");
  attributeMethods(C, llvm::AttributeList::ReturnIndex, "add_return_attribute",
                   "Adds an attribute of the result.",
                   "remove_return_attribute",
                   "Removes one of the result's attributes.");
  method(
      C, "set_metadata", "Sets the attachment of a kind; None removes it.",
      +[](HostedModule &H, Function &F, llvm::StringRef Kind,
          llvm::MDNode *Node) { setMetadata(H, F, Kind, Node); },
      nb::arg("kind"), nb::arg("value").none(), SetMetadata);
  method(C, "add_block", "Appends a block that holds `unreachable`.", &addBlock,
         nb::arg("name") = "");
  method(C, "clone", "Makes a copy with internal linkage.", &clone,
         nb::arg("name"));
}

static void bindBody(nb::class_<FunctionRef, GlobalRef> &C) {
  Properties P(C);
  P("blocks", "The blocks, in order; empty for a declaration.",
    [](Function &F) { return llvm::make_pointer_range(F); });
  P.optional("entry_block", "The first block; None for a declaration.",
             [](Function &F) { return F.empty() ? nullptr : &F.front(); });
  P("instructions", "The instructions of all blocks, in order.",
    [](Function &F) {
      return llvm::make_pointer_range(llvm::instructions(F));
    });
  P("call_sites", "The calls in it, including those of intrinsics.",
    [](Function &F) { return callSitesOf(F); });
  P("callers", "The functions that call it directly.",
    [](Function &F) { return callersOf(F); });
  P("block_count", "The number of blocks.",
    [](Function &F) { return F.size(); });
  P("instruction_count", "The number of instructions.",
    [](Function &F) { return F.getInstructionCount(); });
  P("opcode_counts", "The number of instructions of each opcode, by its name.",
    [](Function &F) { return opcodeCounts(F); });
  P("entry_count", "How often it is entered, according to the profile.",
    [](Function &F) { return entryCountOf(F); });
}

void bindFunction(nb::module_ &M) {
  nb::class_<FunctionRef, GlobalRef> C(M, "Function",
                                       "A function, defined or declared.");
  bindBody(C);
  bindAnalyses(C);
  bindMutations(C);
  Properties P(C);
  P("arguments", "The formal arguments.",
    [](Function &F) { return llvm::make_pointer_range(F.args()); });
  P("return_type", "The type of the returned value.",
    [](Function &F) { return F.getReturnType(); });
  P("attributes", "The attributes of the function itself, in assembly syntax.",
    [](Function &F) { return attributeTexts(F.getAttributes().getFnAttrs()); });
  P("return_attributes",
    "The attributes of the returned value, in assembly syntax.",
    [](Function &F) {
      return attributeTexts(F.getAttributes().getRetAttrs());
    });
  P("is_vararg", "Whether it takes more arguments than it declares.",
    [](Function &F) { return F.isVarArg(); });
  P("is_intrinsic", "Whether it is one of LLVM's intrinsics.",
    [](Function &F) { return F.isIntrinsic(); });
  P("gc", "The garbage collector's name; empty if it has none.",
    [](Function &F) { return F.hasGC() ? F.getGC() : std::string(); });
  P.optional("personality",
             "The personality function for exceptions; None if it has none.",
             [](Function &F) -> llvm::Value * {
               return F.hasPersonalityFn() ? F.getPersonalityFn() : nullptr;
             });
  writable(
      C, "calling_convention", "The assembly's word; \"ccc\" if there is none.",
      [](Function &F) { return callingConvText(F.getCallingConv()); },
      &setCallingConvention);
}

} // namespace passpilot
