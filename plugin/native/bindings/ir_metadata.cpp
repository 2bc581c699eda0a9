// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "core.h"
#include "define.h"

#include "llvm/IR/GlobalObject.h"
#include "llvm/IR/Instruction.h"
#include "llvm/IR/Metadata.h"
#include "llvm/Support/SaveAndRestore.h"

namespace passpilot {

namespace {

constexpr unsigned MaxLevels = 100; ///< depth of nested tuples

/// Converts each node once, so that shared nodes are shared in Python. Tuples
/// nested deeper than MaxLevels stay Metadata.
class MetadataReader {
public:
  explicit MetadataReader(const Owner &O) : O(O) {}

  nb::object read(llvm::Metadata *MD) {
    if (!MD)
      return nb::none();
    if (auto *S = llvm::dyn_cast<llvm::MDString>(MD))
      return text(S->getString());
    if (auto *V = llvm::dyn_cast<llvm::ValueAsMetadata>(MD))
      return valueOf(O, V->getValue());
    if (auto *N = llvm::dyn_cast<llvm::MDTuple>(MD))
      return tuple(*N);
    return nb::cast(MetadataRef{O, MD});
  }

private:
  nb::object tuple(llvm::MDTuple &N) {
    if (Level == MaxLevels)
      return nb::cast(MetadataRef{O, &N});
    auto [It, New] = Known.try_emplace(&N, nb::ellipsis());
    if (!New)
      return It->second;
    const llvm::SaveAndRestore Deeper(Level, Level + 1);
    nb::list Parts;
    for (const llvm::MDOperand &Op : N.operands())
      Parts.append(read(Op.get()));
    return Known[&N] = nb::tuple(Parts);
  }

  const Owner &O;
  unsigned Level = 0;
  llvm::DenseMap<const llvm::MDTuple *, nb::object> Known;
};

std::string spelled(const MetadataRef &R) {
  std::string Text;
  llvm::raw_string_ostream OS(Text);
  R.MD->print(OS, &readable(*R.O.H).module(), /*IsForDebug=*/false);
  return Text;
}

/// Makes nodes from Python values.
class MetadataWriter {
public:
  MetadataWriter(const Owner &O, const char *What)
      : O(O), What(What), C(O.H->module().getContext()) {}

  llvm::MDNode *node(nb::handle Value, unsigned Depth = 0) {
    if (Depth > MaxLevels)
      fail("a value of at most " + std::to_string(MaxLevels) + " levels",
           "a deeper one");
    const bool Self = nb::len(Value) > 0 && Value[0].is(nb::ellipsis());
    llvm::SmallVector<llvm::Metadata *, 8> Parts;
    for (nb::handle Part : Value)
      Parts.push_back(Self && Parts.empty() ? nullptr : part(Part, Depth + 1));
    if (!Self)
      return llvm::MDNode::get(C, Parts);
    llvm::MDNode *N = llvm::MDNode::getDistinct(C, Parts);
    N->replaceOperandWith(0, N);
    return N;
  }

  [[noreturn]] void fail(const std::string &Expected, const std::string &Got) {
    refuse(What, nullptr, Expected, Got);
  }

private:
  llvm::Metadata *part(nb::handle Value, unsigned Depth) {
    if (Value.is_none())
      return nullptr;
    if (nb::isinstance<nb::str>(Value))
      return llvm::MDString::get(C, nb::cast<std::string>(Value));
    if (nb::isinstance<nb::tuple>(Value) || nb::isinstance<nb::list>(Value))
      return node(Value, Depth);
    if (nb::isinstance<MetadataRef>(Value))
      return &existing(nb::cast<const MetadataRef &>(Value));
    if (nb::isinstance<ConstantRef>(Value))
      return llvm::ConstantAsMetadata::get(llvm::cast<llvm::Constant>(
          &operandIn(O, nb::cast<const ConstantRef &>(Value), What)));
    return llvm::ConstantAsMetadata::get(number(Value));
  }

  llvm::Metadata &existing(const MetadataRef &R) {
    if (R.O.H != O.H)
      fail("metadata of this module", "some of another module");
    return *R.MD;
  }

  llvm::Constant *number(nb::handle Value) {
    if (PyBool_Check(Value.ptr()))
      return llvm::ConstantInt::getBool(C, Value.is(Py_True));
    int32_t Number = 0;
    if (!PyLong_Check(Value.ptr()) || !nb::try_cast(Value, Number, false))
      fail(
          "text, a 32-bit number, a bool, a constant, None or a tuple of these",
          nb::cast<std::string>(nb::repr(Value)));
    return llvm::ConstantInt::getSigned(llvm::Type::getInt32Ty(C), Number);
  }

  const Owner &O;
  const char *What;
  llvm::LLVMContext &C;
};

} // namespace

nb::object metadataOf(const Owner &O, llvm::Metadata *MD) {
  return MetadataReader(O).read(MD);
}

llvm::MDNode *nodeIn(const Owner &O, nb::handle Value, const char *What) {
  readable(*O.H);
  MetadataWriter W(O, What);
  if (Value.is_none())
    return nullptr;
  if (nb::isinstance<nb::tuple>(Value) || nb::isinstance<nb::list>(Value))
    return W.node(Value);
  W.fail("a tuple or None", nb::cast<std::string>(nb::repr(Value)));
}

nb::list attachmentsOf(const Owner &O, const llvm::Value &V) {
  llvm::SmallVector<std::pair<unsigned, llvm::MDNode *>, 4> All;
  if (auto *I = llvm::dyn_cast<llvm::Instruction>(&V))
    I->getAllMetadataOtherThanDebugLoc(All);
  else
    llvm::cast<llvm::GlobalObject>(V).getAllMetadata(All);
  nb::list L;
  llvm::SmallVector<llvm::StringRef, 64> Names;
  for (auto [Kind, Node] : All) {
    if (Kind == llvm::LLVMContext::MD_dbg)
      continue;
    if (Names.empty())
      V.getContext().getMDKindNames(Names);
    L.append(nb::make_tuple(text(Names[Kind]), metadataOf(O, Node)));
  }
  return L;
}

void bindMetadata(nb::module_ &M) {
  nb::class_<MetadataRef> C(
      M, "Metadata", "A node of metadata that no Python value can stand for.");
  C.def("__str__", [](MetadataRef &R) {
     return text(spelled(R));
   }).def("__repr__", [](MetadataRef &R) {
    return text("<Metadata " + spelled(R) + ">");
  });
  defineIdentity(C, [](const MetadataRef &R) { return R.MD; });
}

} // namespace passpilot
