// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Replaces calls by bodies through the C API of the installed Python bindings.

#include "mlir_splice.h"

#include <unordered_map>

namespace passpilot {

using namespace mlir_api;

namespace {

/// Stacks locations on that of a call, as mlir/lib/Transforms/Utils/
/// InliningUtils.cpp does.
class Stacking {
public:
  Stacking(const MLIRApi &MLIR, Location Call) : MLIR(MLIR), Call(Call) {}

  /// Changes everything in \p Op, but not \p Op itself.
  void apply(Operation Op) {
    MLIR.blocks(Op, [this](Block B) {
      for (intptr_t I = 0, Count = MLIR.Arguments(B); I < Count; ++I) {
        const Value Argument = MLIR.ArgumentAt(B, I);
        MLIR.SetArgumentLocation(Argument,
                                 stacked(MLIR.LocationOfValue(Argument)));
      }
      MLIR.operations(B, [this](Operation Inner) {
        MLIR.SetLocation(Inner, stacked(MLIR.LocationOf(Inner)));
        apply(Inner);
      });
    });
  }

private:
  const MLIRApi &MLIR;
  const Location Call;
  std::unordered_map<const void *, Location> Known;

  Location stacked(Location Place) {
    auto [It, New] = Known.try_emplace(Place.Pointer);
    if (New)
      It->second = stack(Place);
    return It->second;
  }

  /// The outermost caller of \p Place is now called at the call.
  Location stack(Location Place) const {
    if (!MLIR.IsCallSite(Place))
      return MLIR.CallSite(Place, Call);
    return MLIR.CallSite(MLIR.CalleeOf(Place), stack(MLIR.CallerOf(Place)));
  }
};

/// Moves the operations between \p First and the end of its block.
void moveToEnd(const MLIRApi &MLIR, Operation First, Block To) {
  while (First.Pointer) {
    const Operation Next = MLIR.Next(First);
    MLIR.Remove(First);
    MLIR.Append(To, First);
    First = Next;
  }
}

std::vector<Value> operandsOf(const MLIRApi &MLIR, Operation Op) {
  std::vector<Value> Values;
  for (intptr_t I = 0, End = MLIR.Operands(Op); I < End; ++I)
    Values.push_back(MLIR.OperandAt(Op, I));
  return Values;
}

/// Replaces \p Call by the block of \p Function, which ends with a return.
void splice(const MLIRApi &MLIR, Operation Call, Operation Function) {
  const Block Body = MLIR.FirstBlock(MLIR.RegionAt(Function, 0));
  Operation Return = MLIR.Terminator(Body);
  if (!Return.Pointer) // MLIR does not know that it ends the block
    MLIR.operations(Body, [&](Operation Op) { Return = Op; });
  const Rewriter Rewrite = MLIR.CreateRewriter(MLIR.ContextOf(Call));
  std::vector<Value> Values = operandsOf(MLIR, Call);
  MLIR.InlineBefore(Rewrite, Body, Call, Values.size(), Values.data());
  Values = operandsOf(MLIR, Return);
  MLIR.Replace(Rewrite, Call, Values.size(), Values.data());
  MLIR.Destroy(Return);
  MLIR.DestroyRewriter(Rewrite);
}

} // namespace

void bindMlirSplice(nb::class_<MLIRApi> &C) {
  C.def(
       "stack_locations",
       [](const MLIRApi &MLIR, nb::handle Body, nb::handle Call) {
         const Operation Op{pointerIn(Call)};
         const Location Place = MLIR.LocationOf(Op);
         if (Place.Pointer != MLIR.Unknown(MLIR.ContextOf(Op)).Pointer)
           Stacking(MLIR, Place).apply({pointerIn(Body)});
       },
       nb::arg("body"), nb::arg("call"),
       "Gives everything in a function call-site locations, as MLIR's "
       "inliner does: the body is about to replace the call.")
      .def(
          "move_rest",
          [](const MLIRApi &MLIR, nb::handle Last, nb::handle To) {
            moveToEnd(MLIR, MLIR.Next({pointerIn(Last)}), {pointerIn(To)});
          },
          nb::arg("last"), nb::arg("block"),
          "Moves the operations behind an operation to the end of a block.")
      .def(
          "move_all",
          [](const MLIRApi &MLIR, nb::handle From, nb::handle To) {
            moveToEnd(MLIR, MLIR.First({pointerIn(From)}), {pointerIn(To)});
          },
          nb::arg("block"), nb::arg("to"),
          "Moves the operations of a block to the end of another.")
      .def(
          "insert_after",
          [](const MLIRApi &MLIR, nb::handle Moved, nb::handle Place) {
            const Block At{pointerIn(Place)}, B{pointerIn(Moved)};
            MLIR.Detach(B);
            MLIR.InsertAfter(MLIR.RegionOf(At), At, B);
          },
          nb::arg("block"), nb::arg("place"), "Moves a block behind another.")
      .def(
          "splice",
          [](const MLIRApi &MLIR, nb::handle Call, nb::handle Function) {
            splice(MLIR, {pointerIn(Call)}, {pointerIn(Function)});
          },
          nb::arg("call"), nb::arg("function"),
          "Replaces a call by the only block of a function, which ends with a "
          "return; the function loses its body.");
}

} // namespace passpilot
