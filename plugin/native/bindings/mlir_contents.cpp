// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counts the contents of an MLIR operation through the C API of the installed
// Python bindings.

#include "mlir_splice.h"

#include "../runtime/mlir_contents.h"

#include <unordered_map>

namespace passpilot {

using namespace mlir_api;

namespace {

/// A call in Python: the operation's capsule, the index of its kind, the
/// callee's symbol or None, and whether it must not be inlined.
using Call = std::tuple<nb::object, size_t, nb::object, bool>;

/// Counts the contents of one operation, without the operation itself, and
/// collects its calls. The C API for countContents().
class Count {
public:
  /// Pairs of a calling operation's name and the attribute with the
  /// callee's name.
  using Kinds = std::vector<std::pair<std::string, std::string>>;

  Count(const MLIRApi &MLIR, const char *Capsule, const Kinds &Calling)
      : MLIR(MLIR), Capsule(Capsule), Calling(Calling) {}

  void count(Operation Root) {
    countContents(*this, Root, Counts);
    std::vector<Block> Body;
    blocks(Root, [&](Block B) { Body.push_back(B); });
    OwnBlocks = Body.size();
    if (Calls.size() > 1 && Counts.Blocks > 1)
      order(Body);
  }

  template <typename Function> void blocks(Operation Op, Function Do) const {
    MLIR.blocks(Op, Do);
  }
  template <typename Function> void operations(Block B, Function Do) const {
    MLIR.operations(B, Do);
  }
  const MLIRName &visit(Operation Op) {
    Name &N = nameOf(Op);
    ++N.Count;
    if (N.Call) {
      CallNumbers[Op.Pointer] = Calls.size();
      Calls.push_back(call(Op, N.Kind));
    } else if (N.IsPlain) { // MLIR would build the list of its own attributes
      for (intptr_t I = 0, End = MLIR.Discardable(Op); I < End; ++I)
        refer(MLIR.DiscardableAt(Op, I).Value);
    } else {
      lookAtAttributes(Op);
    }
    return N;
  }

  /// Counts the symbols that the attributes of \p Op mention.
  void lookAtAttributes(Operation Op) {
    for (intptr_t I = 0, End = MLIR.Attributes(Op); I < End; ++I)
      refer(MLIR.AttributeAt(Op, I).Value);
  }

  nb::tuple result() const {
    nb::dict OfName;
    for (const auto &[Key, N] : Names)
      OfName[text({N.Text.Data, N.Text.Length})] = N.Count;
    const auto &D = Counts.OfDialect;
    return nb::make_tuple(OfName, std::vector<int64_t>(D.begin(), D.end()),
                          Counts.Loops, Counts.Blocks, OwnBlocks, Counts.Depth,
                          references(), Calls, Order);
  }

  nb::dict references() const {
    nb::dict Uses;
    for (const auto &[Symbol, Times] : References)
      Uses[text(Symbol)] = Times;
    return Uses;
  }

private:
  struct Name : MLIRName {
    using MLIRName::MLIRName;
    mlir_api::Text Text{};
    size_t Count = 0;
    bool IsPlain = false;
    size_t Kind = 0; ///< index in Calling, of a call
  };

  const MLIRApi &MLIR;
  const char *Capsule;
  const Kinds &Calling;
  MLIRCounts Counts;
  std::unordered_map<const void *, Name> Names;
  std::unordered_map<const void *, size_t> CallNumbers;
  std::unordered_map<std::string, size_t> References;
  std::vector<Call> Calls;
  std::vector<size_t> Order; ///< MLIR's inliner's, if it differs from Calls
  size_t OwnBlocks = 0;

  Name &nameOf(Operation Op) {
    const Identifier Key = MLIR.Name(Op);
    if (auto Known = Names.find(Key.Pointer); Known != Names.end())
      return Known->second;
    const Text Full = MLIR.TextOf(Key);
    Name &N = Names.emplace(Key.Pointer, Name(Full.view())).first->second;
    N.Text = Full;
    N.IsPlain = MLIR.isPlain(Full.view());
    for (size_t I = 0; I < Calling.size(); ++I)
      if (Full.view() == Calling[I].first) {
        N.Call = true;
        N.Kind = I;
      }
    return N;
  }

  Call call(Operation Op, size_t Kind) {
    const std::string &Callee = Calling[Kind].second;
    const Attribute Named =
        MLIR.AttributeNamed(Op, {Callee.data(), Callee.size()});
    nb::object Symbol = nb::none();
    if (Named.Pointer && MLIR.IsFlatSymbol(Named))
      Symbol = text(MLIR.FlatSymbol(Named).view());
    const intptr_t Attributes = MLIR.Attributes(Op);
    if (Attributes == 1 && Named.Pointer)
      refer(Named);
    else
      lookAtAttributes(Op);
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

  /// The order of MLIR's inliner: last block first; in a block first its own
  /// calls, then those in its operations' regions.
  void order(const std::vector<Block> &Blocks) {
    for (size_t I = Blocks.size(); I-- > 0;) {
      std::vector<Block> Inner;
      operations(Blocks[I], [&](Operation Op) {
        auto Known = CallNumbers.find(Op.Pointer);
        if (Known != CallNumbers.end())
          Order.push_back(Known->second);
        else
          blocks(Op, [&](Block B) { Inner.push_back(B); });
      });
      order(Inner);
    }
  }
};

} // namespace

void bindMlirContents(nb::module_ &M) {
  nb::class_<MLIRApi> C(M, "MlirApi",
                        "The C API of the installed MLIR bindings.");
  C.def(nb::init<const std::string &, const std::vector<std::string> &>(),
        nb::arg("library"), nb::arg("plain"),
        "`plain` are dialects and operations whose own attributes mention no "
        "symbols.")
      .def(
          "count",
          [](const MLIRApi &MLIR, nb::handle Capsule,
             const Count::Kinds &Calling) {
            Count Counts(MLIR, PyCapsule_GetName(Capsule.ptr()), Calling);
            Counts.count({pointerIn(Capsule)});
            return Counts.result();
          },
          nb::arg("operation"), nb::arg("calling"),
          nb::sig("def count(self, operation: object, calling: "
                  "Sequence[tuple[str, str]]) -> "
                  "tuple[dict[str, int], list[int], int, int, int, int, "
                  "dict[str, int], list[tuple[object, int, str | None, bool]], "
                  "list[int]]"),
          "Counts the contents of the operation in a capsule. Returns the "
          "operations by name and per dialect of the feature table (others "
          "last), the number of loops, of blocks, of its own blocks, the "
          "depth of nested regions, the mentions of each symbol, the calls, "
          "and the order in which MLIR's inliner visits them, empty if that is "
          "the order of the text.")
      .def(
          "mentions",
          [](const MLIRApi &MLIR, nb::handle Capsule, bool Inside) {
            const Count::Kinds NoCalls;
            const Operation Op{pointerIn(Capsule)};
            Count Counts(MLIR, nullptr, NoCalls);
            Counts.lookAtAttributes(Op);
            if (Inside)
              Counts.count(Op);
            return Counts.references();
          },
          nb::arg("operation"), nb::arg("inside"),
          nb::sig("def mentions(self, operation: object, inside: bool) -> "
                  "dict[str, int]"),
          "Counts how often an operation's attributes mention each symbol, and "
          "those of the operations in it if `inside`.");
  bindMlirSplice(C);
}

} // namespace passpilot
