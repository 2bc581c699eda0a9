// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "core.h"
#include "define.h"

#include "llvm/IR/DerivedTypes.h"

namespace passpilot {

using llvm::Type;

llvm::Type &typeIn(const Owner &O, const TypeRef &R, const char *What) {
  if (R.O.H != O.H)
    refuse(What, nullptr, "a type of this module", "one of another module");
  return R.type();
}

llvm::Type &TypeRef::type() const {
  readable(*O.H);
  return *T;
}

static const char *kindOf(const Type &T) {
  switch (T.getTypeID()) {
  case Type::IntegerTyID:
    return "integer";
  case Type::PointerTyID:
    return "pointer";
  case Type::StructTyID:
    return "struct";
  case Type::ArrayTyID:
    return "array";
  case Type::FixedVectorTyID:
  case Type::ScalableVectorTyID:
    return "vector";
  case Type::FunctionTyID:
    return "function";
  case Type::VoidTyID:
    return "void";
  case Type::LabelTyID:
    return "label";
  case Type::MetadataTyID:
    return "metadata";
  case Type::TokenTyID:
    return "token";
  case Type::TargetExtTyID:
    return "target";
  default:
    return T.isFloatingPointTy() ? "float" : "other";
  }
}

static std::vector<TypeRef> partsOf(const TypeRef &R) {
  std::vector<TypeRef> Parts;
  for (Type *T : R.type().subtypes())
    Parts.push_back({R.O, T});
  return Parts;
}

static std::optional<uint64_t> countOf(const Type &T) {
  if (auto *A = llvm::dyn_cast<llvm::ArrayType>(&T))
    return A->getNumElements();
  if (auto *V = llvm::dyn_cast<llvm::VectorType>(&T))
    return V->getElementCount().getKnownMinValue();
  if (auto *S = llvm::dyn_cast<llvm::StructType>(&T))
    return S->getNumElements();
  return std::nullopt;
}

static std::optional<uint64_t> sizeOf(const TypeRef &R) {
  if (!R.type().isSized() || R.type().isScalableTy())
    return std::nullopt;
  return R.O.H->module().getDataLayout().getTypeAllocSize(&R.type());
}

void bindType(nb::module_ &M) {
  nb::class_<TypeRef> C(M, "Type", "A type of LLVM's.");
  Properties P(C);
  P("kind",
    "\"integer\", \"float\", \"pointer\", \"vector\", \"array\", \"struct\", "
    "\"function\", \"void\", \"label\", ...",
    [](Type &T) { return kindOf(T); });
  P("bits", "Bits of a number or of a vector's element; 0 for other types.",
    [](Type &T) { return T.getScalarSizeInBits(); });
  P("parts",
    "The contained types; for a function: its result, then its parameters.",
    &partsOf);
  P("count", "The number of elements; for a scalable vector the minimum.",
    [](Type &T) { return countOf(T); });
  P("is_vararg", "Whether a function type takes more arguments than it lists.",
    [](Type &T) {
      auto *F = llvm::dyn_cast<llvm::FunctionType>(&T);
      return F && F->isVarArg();
    });
  P("is_scalable",
    "Whether a vector's length is a multiple known only at run time.",
    [](Type &T) { return T.isScalableTy(); });
  P("name", "The name of a named struct.", [](Type &T) {
    auto *S = llvm::dyn_cast<llvm::StructType>(&T);
    return S && S->hasName() ? S->getName() : "";
  });
  P("address_space", "The address space of a pointer; None for other types.",
    [](Type &T) {
      return T.isPointerTy() ? std::optional(T.getPointerAddressSpace())
                             : std::nullopt;
    });
  P("size", "Bytes from one to the next in an array, if known.", &sizeOf);
  C.def("__str__", [](TypeRef &R) {
     return text(printedType(R.type()));
   }).def("__repr__", [](TypeRef &R) {
    return text("<Type " + printedType(R.type()) + ">");
  });
  defineIdentity(C, [](const TypeRef &R) { return R.T; });
}

} // namespace passpilot
