// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counts the contents of an MLIR operation through the C API of the installed
// Python bindings.

#include "mlir_api.h"

#include <unordered_map>

namespace passpilot {

using namespace mlir_api;

namespace {

/// A call in Python: the operation's capsule, the index of its kind, the
/// callee's symbol or None, and whether it must not be inlined.
using Call = std::tuple<nb::object, size_t, nb::object, bool>;

/// Counts the contents of one operation, without the operation itself.
class Count {
public:
  /// Pairs of a calling operation's name and the attribute with the
  /// callee's name.
  using Kinds = std::vector<std::pair<std::string, std::string>>;

  Count(const MLIRApi &MLIR, const char *Capsule, const Kinds &Calling,
        const std::vector<std::string> &Flat)
      : MLIR(MLIR), Capsule(Capsule), Calling(Calling), Flat(Flat) {}

  void count(Operation Root) {
    std::vector<Block> Body;
    look(Root, 1, Body);
    OwnBlocks = Body.size();
    if (Calls.size() > 1 && Blocks > 1)
      for (size_t I = Body.size(); I-- > 0;)
        order(Body[I]);
  }

  nb::tuple result() const {
    nb::dict Counts, Uses;
    for (const auto &[Key, N] : Names)
      if (N.Count)
        Counts[nb::str(N.Text.Data, N.Text.Length)] = N.Count;
    for (const auto &[Symbol, Times] : References)
      Uses[text(Symbol)] = Times;
    return nb::make_tuple(Counts, Blocks, OwnBlocks, Depth, Uses, Calls, Order);
  }

private:
  struct Name {
    mlir_api::Text Text{};
    size_t Count = 0;
    bool IsFlat = false;
    std::optional<size_t> Kind;
  };

  const MLIRApi &MLIR;
  const char *Capsule;
  const Kinds &Calling;
  const std::vector<std::string> &Flat;
  std::unordered_map<const void *, Name> Names;
  std::unordered_map<const void *, size_t> CallNumbers;
  std::unordered_map<std::string, size_t> References;
  std::vector<Call> Calls;
  std::vector<size_t> Order; ///< MLIR's inliner's, if it differs from Calls
  size_t Blocks = 0, OwnBlocks = 0, Depth = 1;

  Name &nameOf(Operation Op) {
    const Identifier Key = MLIR.Name(Op);
    Name &N = Names[Key.Pointer];
    if (N.Text.Data)
      return N;
    N.Text = MLIR.TextOf(Key);
    const std::string_view Whole = N.Text.view();
    for (const std::string &Dialect : Flat)
      N.IsFlat |= Whole.substr(0, Whole.find('.')) == Dialect;
    for (size_t I = 0; I < Calling.size(); ++I)
      if (Whole == Calling[I].first)
        N.Kind = I;
    return N;
  }

  /// Counts the contents of \p Op, whose body is \p Level regions deep; adds
  /// its blocks to \p Found.
  void look(Operation Op, size_t Level, std::vector<Block> &Found) {
    for (intptr_t R = 0, End = MLIR.Regions(Op); R < End; ++R)
      for (Block B = MLIR.FirstBlock(MLIR.RegionAt(Op, R)); B.Pointer;
           B = MLIR.NextBlock(B)) {
        ++Blocks;
        Depth = std::max(Depth, Level);
        Found.push_back(B);
        for (Operation Each = MLIR.First(B); Each.Pointer;
             Each = MLIR.Next(Each))
          lookAt(Each, Level);
      }
  }

  void lookAt(Operation Op, size_t Level) {
    Name &N = nameOf(Op);
    ++N.Count;
    if (N.IsFlat)
      return;
    if (N.Kind) {
      CallNumbers[Op.Pointer] = Calls.size();
      Calls.push_back(call(Op, *N.Kind));
    } else {
      for (intptr_t I = 0, End = MLIR.Attributes(Op); I < End; ++I)
        refer(MLIR.AttributeAt(Op, I).Value);
    }
    std::vector<Block> Inner;
    look(Op, Level + 1, Inner);
  }

  Call call(Operation Op, size_t Kind) {
    const std::string &Callee = Calling[Kind].second;
    const Attribute Named =
        MLIR.AttributeNamed(Op, {Callee.data(), Callee.size()});
    nb::object Symbol = nb::none();
    if (Named.Pointer && MLIR.IsFlatSymbol(Named))
      Symbol = text(std::string(MLIR.FlatSymbol(Named).view()));
    const intptr_t Attributes = MLIR.Attributes(Op);
    if (Attributes == 1 && Named.Pointer)
      refer(Named);
    else
      for (intptr_t I = 0; I < Attributes; ++I)
        refer(MLIR.AttributeAt(Op, I).Value);
    const bool Refuses =
        Attributes > 1 && MLIR.AttributeNamed(Op, {"no_inline", 9}).Pointer;
    return {nb::steal(PyCapsule_New(Op.Pointer, Capsule, nullptr)), Kind,
            Symbol, Refuses};
  }

  void refer(Attribute A) {
    if (MLIR.IsSymbol(A)) { // true for flat ones, too
      ++References[std::string(MLIR.RootSymbol(A).view())];
    } else if (MLIR.IsArray(A)) {
      for (intptr_t I = 0, End = MLIR.Elements(A); I < End; ++I)
        refer(MLIR.ElementAt(A, I));
    } else if (MLIR.IsDictionary(A)) {
      for (intptr_t I = 0, End = MLIR.Entries(A); I < End; ++I)
        refer(MLIR.EntryAt(A, I).Value);
    }
  }

  /// The order of MLIR's inliner: first the calls in the block, then those in
  /// its operations' regions, last block first.
  void order(Block B) {
    std::vector<Block> Inner;
    for (Operation Op = MLIR.First(B); Op.Pointer; Op = MLIR.Next(Op)) {
      if (auto Known = CallNumbers.find(Op.Pointer);
          Known != CallNumbers.end()) {
        Order.push_back(Known->second);
        continue;
      }
      for (intptr_t R = 0, End = MLIR.Regions(Op); R < End; ++R)
        for (Block Below = MLIR.FirstBlock(MLIR.RegionAt(Op, R)); Below.Pointer;
             Below = MLIR.NextBlock(Below))
          Inner.push_back(Below);
    }
    for (size_t I = Inner.size(); I-- > 0;)
      order(Inner[I]);
  }
};

} // namespace

/// Stacks locations on that of a call, as mlir/lib/Transforms/Utils/
/// InliningUtils.cpp does.
class Stacking {
public:
  Stacking(const MLIRApi &MLIR, Location Call) : MLIR(MLIR), Call(Call) {}

  /// Changes everything in \p Op, but not \p Op itself.
  void apply(Operation Op) {
    for (intptr_t R = 0, End = MLIR.Regions(Op); R < End; ++R)
      for (Block B = MLIR.FirstBlock(MLIR.RegionAt(Op, R)); B.Pointer;
           B = MLIR.NextBlock(B)) {
        for (intptr_t I = 0, Count = MLIR.Arguments(B); I < Count; ++I) {
          const Value Argument = MLIR.ArgumentAt(B, I);
          MLIR.SetArgumentLocation(Argument,
                                   stacked(MLIR.LocationOfValue(Argument)));
        }
        for (Operation Each = MLIR.First(B); Each.Pointer;
             Each = MLIR.Next(Each)) {
          MLIR.SetLocation(Each, stacked(MLIR.LocationOf(Each)));
          apply(Each);
        }
      }
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

void bindMlirContents(nb::module_ &M) {
  nb::class_<MLIRApi>(M, "MlirApi", "The C API of the installed MLIR bindings.")
      .def(nb::init<const std::string &>(), nb::arg("library"))
      .def(
          "count",
          [](const MLIRApi &MLIR, nb::handle Capsule,
             const Count::Kinds &Calling,
             const std::vector<std::string> &Flat) {
            Count C(MLIR, PyCapsule_GetName(Capsule.ptr()), Calling, Flat);
            C.count({pointerIn(Capsule)});
            return C.result();
          },
          nb::arg("operation"), nb::arg("calling"), nb::arg("flat"),
          nb::sig("def count(self, operation: object, calling: "
                  "Sequence[tuple[str, str]], flat: Sequence[str]) -> "
                  "tuple[dict[str, int], int, int, int, dict[str, int], "
                  "list[tuple[object, int, str | None, bool]], list[int]]"),
          "Counts the contents of the operation in a capsule. Returns the "
          "operations by name, the number of blocks, of its own blocks, the "
          "depth of nested regions, the mentions of each symbol, the calls, "
          "and the order in which MLIR's inliner visits them, empty if that is "
          "the order of the text.")
      .def(
          "stack_locations",
          [](const MLIRApi &MLIR, nb::handle Body, nb::handle Call) {
            const Operation Op{pointerIn(Call)};
            const Location Place = MLIR.LocationOf(Op);
            if (Place.Pointer != MLIR.Unknown(MLIR.ContextOf(Op)).Pointer)
              Stacking(MLIR, Place).apply({pointerIn(Body)});
          },
          nb::arg("body"), nb::arg("call"),
          nb::sig("def stack_locations(self, body: object, call: object) -> "
                  "None"),
          "Gives everything in a function call-site locations, as MLIR's "
          "inliner does: the body is about to replace the call.")
      .def(
          "move_rest",
          [](const MLIRApi &MLIR, nb::handle Last, nb::handle To) {
            moveToEnd(MLIR, MLIR.Next({pointerIn(Last)}), {pointerIn(To)});
          },
          nb::arg("last"), nb::arg("block"),
          nb::sig("def move_rest(self, last: object, block: object) -> None"),
          "Moves the operations behind an operation to the end of a block.")
      .def(
          "move_all",
          [](const MLIRApi &MLIR, nb::handle From, nb::handle To) {
            moveToEnd(MLIR, MLIR.First({pointerIn(From)}), {pointerIn(To)});
          },
          nb::arg("block"), nb::arg("to"),
          nb::sig("def move_all(self, block: object, to: object) -> None"),
          "Moves the operations of a block to the end of another.");
}

} // namespace passpilot
