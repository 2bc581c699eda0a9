// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What LLVM's analyses say about functions, blocks, instructions and calls.

#include "core.h"
#include "ir.h"

#include "../hosted/analyses.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Instructions.h"

namespace passpilot {

using Size = std::optional<uint64_t>;
using TTI = llvm::TargetTransformInfo;

/// Throws unless \p V is a pointer that function \p F can refer to.
static void checkPointer(const llvm::Function &F, const llvm::Value &V) {
  const llvm::Function *In = nullptr;
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

static const char *aliasIn(const FunctionRef &R, const ValueRef &A,
                           const ValueRef &B, Size SizeA, Size SizeB) {
  llvm::Function &F = of(R);
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

[[noreturn]] static void refuseOther(const char *Who, const char *Expected,
                                     const std::string &Got) {
  throw InputError(std::string(Who) + ": expected " + Expected + ", got " +
                   Got);
}

static bool dominates(const InstructionRef &A, const InstructionRef &B) {
  llvm::Instruction &I = of(A), &J = of(B);
  if (I.getFunction() != J.getFunction())
    refuseOther("dominates", "two instructions of one function",
                printedOperand(J) + " of " + J.getFunction()->getName().str());
  return dominatorsOf(*A.O.H, *I.getFunction()).dominates(&I, &J);
}

static bool blockDominates(const BlockRef &A, const BlockRef &B) {
  llvm::BasicBlock &I = of(A), &J = of(B);
  if (I.getParent() != J.getParent())
    refuseOther("dominates", "two blocks of one function",
                printedOperand(J) + " of " + J.getParent()->getName().str());
  return dominatorsOf(*A.O.H, *I.getParent()).dominates(&I, &J);
}

static nb::object immediateDominatorOf(const BlockRef &R) {
  llvm::BasicBlock &B = of(R);
  auto *Node = dominatorsOf(*R.O.H, *B.getParent()).getNode(&B);
  auto *Parent = Node ? Node->getIDom() : nullptr;
  return valueOf(R.O, Parent ? Parent->getBlock() : nullptr);
}

static double probability(const BlockRef &From, const BlockRef &To) {
  llvm::BasicBlock &B = of(From);
  if (!llvm::is_contained(llvm::successors(&B), &of(To)))
    refuseOther("probability_to", "a successor of the block",
                printedOperand(of(To)));
  return probabilityOf(*From.O.H, B, of(To));
}

static std::optional<int64_t> costAs(const InstructionRef &R,
                                     const std::string &Kind) {
  const std::pair<const char *, TTI::TargetCostKind> Kinds[] = {
      {"throughput", TTI::TCK_RecipThroughput},
      {"latency", TTI::TCK_Latency},
      {"code-size", TTI::TCK_CodeSize},
      {"size-and-latency", TTI::TCK_SizeAndLatency}};
  for (const auto &[Name, K] : Kinds)
    if (Kind == Name) {
      const llvm::InstructionCost C = costOf(*R.O.H, of(R), K);
      return C.isValid() ? std::optional(C.getValue()) : std::nullopt;
    }
  refuseOther("cost", "throughput, latency, code-size or size-and-latency",
              Kind);
}

void bindFunctionAnalyses(nb::class_<FunctionRef, GlobalRef> &C) {
  C.def_prop_ro("loops", &loopsOfFunction,
                nb::sig("def loops(self) -> list[Loop]"),
                "The loops, outer before inner ones.")
      .def_prop_ro(
          "properties",
          [](FunctionRef &R) { return propertiesOf(*R.O.H, of(R)); },
          "LLVM's function properties, by LLVM's names.")
      .def("alias", &aliasIn, nb::arg("a"), nb::arg("b"),
           nb::arg("size_a") = nb::none(), nb::arg("size_b") = nb::none(),
           "Whether two pointers alias: \"no\", \"may\", \"partial\" or "
           "\"must\". Sizes are in bytes, None if unknown.");
}

void bindBlockAnalyses(nb::class_<BlockRef, ValueRef> &C) {
  C.def_prop_ro("loop", &loopOfBlock, nb::sig("def loop(self) -> Loop | None"),
                "The innermost loop that contains it.")
      .def_prop_ro(
          "loop_depth",
          [](BlockRef &R) {
            llvm::BasicBlock &B = of(R);
            return loopsOf(*R.O.H, *B.getParent()).getLoopDepth(&B);
          },
          "How many loops the block is in.")
      .def("dominates", &blockDominates, nb::arg("other"),
           "Whether it dominates another; every block dominates itself and all "
           "unreachable blocks.")
      .def_prop_ro(
          "immediate_dominator", &immediateDominatorOf,
          nb::sig("def immediate_dominator(self) -> BasicBlock | None"),
          "The immediate dominator; None for the entry and unreachable blocks.")
      .def_prop_ro(
          "frequency", [](BlockRef &R) { return frequencyOf(*R.O.H, of(R)); },
          "Executions per execution of the entry block, as LLVM estimates.")
      .def("probability_to", &probability, nb::arg("successor"),
           "The probability that the block goes on to a successor, 0 to 1.");
}

void bindInstructionAnalyses(nb::class_<InstructionRef, ValueRef> &C) {
  C.def("dominates", &dominates, nb::arg("other"),
        "Whether every way to the other instruction comes through this one.")
      .def("cost", &costAs, nb::arg("kind") = "throughput",
           "The target's cost, None if it has no such instruction; kind: "
           "\"throughput\", \"latency\", \"code-size\" or "
           "\"size-and-latency\".");
}

void bindInlineCost(nb::module_ &M) {
  using Cost = llvm::InlineCost;
  nb::class_<Cost>(M, "InlineCost", "LLVM's estimate for a call site.")
      .def_prop_ro(
          "cost",
          [](Cost &C) {
            return C.isVariable() ? std::optional(C.getCost()) : std::nullopt;
          },
          "The cost; None if LLVM always or never inlines the call.")
      .def_prop_ro(
          "threshold",
          [](Cost &C) {
            return C.isVariable() ? std::optional(C.getThreshold())
                                  : std::nullopt;
          },
          "The cost below which LLVM inlines the call.")
      .def_prop_ro(
          "is_always", [](Cost &C) { return C.isAlways(); },
          "Whether LLVM inlines the call whatever it costs.")
      .def_prop_ro(
          "is_never", [](Cost &C) { return C.isNever(); },
          "Whether LLVM must not or will not inline the call.")
      .def_prop_ro(
          "reason",
          [](Cost &C) {
            return C.getReason() ? std::optional<std::string>(C.getReason())
                                 : std::nullopt;
          },
          "LLVM's reason, if it gives one.")
      .def("__bool__", [](Cost &C) { return static_cast<bool>(C); });
}

void bindCallAnalyses(nb::class_<CallRef, InstructionRef> &C) {
  C.def_prop_ro(
      "inline_cost", [](CallRef &R) { return inlineCostOf(*R.O.H, of(R)); },
      "The cost of a direct call of a function with a body.");
}

} // namespace passpilot
