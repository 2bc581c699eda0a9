// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "core.h"
#include "ir.h"

#include "llvm/IR/DerivedTypes.h"

namespace passpilot {

llvm::Type &TypeRef::type() const {
  readable(*O.H);
  return *T;
}

static const char *kindOf(const llvm::Type &T) {
  switch (T.getTypeID()) {
  case llvm::Type::IntegerTyID:
    return "integer";
  case llvm::Type::PointerTyID:
    return "pointer";
  case llvm::Type::StructTyID:
    return "struct";
  case llvm::Type::ArrayTyID:
    return "array";
  case llvm::Type::FixedVectorTyID:
  case llvm::Type::ScalableVectorTyID:
    return "vector";
  case llvm::Type::FunctionTyID:
    return "function";
  case llvm::Type::VoidTyID:
    return "void";
  case llvm::Type::LabelTyID:
    return "label";
  case llvm::Type::MetadataTyID:
    return "metadata";
  case llvm::Type::TokenTyID:
    return "token";
  case llvm::Type::TargetExtTyID:
    return "target";
  default:
    return T.isFloatingPointTy() ? "float" : "other";
  }
}

static std::vector<TypeRef> partsOf(const TypeRef &R) {
  std::vector<TypeRef> Parts;
  for (llvm::Type *T : R.type().subtypes())
    Parts.push_back({R.O, T});
  return Parts;
}

static std::optional<uint64_t> countOf(const TypeRef &R) {
  if (auto *A = llvm::dyn_cast<llvm::ArrayType>(&R.type()))
    return A->getNumElements();
  if (auto *V = llvm::dyn_cast<llvm::VectorType>(&R.type()))
    return V->getElementCount().getKnownMinValue();
  if (auto *S = llvm::dyn_cast<llvm::StructType>(&R.type()))
    return S->getNumElements();
  return std::nullopt;
}

static std::optional<uint64_t> sizeOf(const TypeRef &R) {
  if (!R.type().isSized() || R.type().isScalableTy())
    return std::nullopt;
  return R.O.H->module().getDataLayout().getTypeAllocSize(&R.type());
}

static bool equals(const TypeRef &A, nb::handle Other) {
  const TypeRef *B = nullptr;
  return nb::try_cast<const TypeRef *>(Other, B, false) && B && B->T == A.T;
}

void bindType(nb::module_ &M) {
  nb::class_<TypeRef>(M, "Type", "A type of LLVM's.")
      .def_prop_ro(
          "kind", [](TypeRef &R) { return kindOf(R.type()); },
          "\"integer\", \"float\", \"pointer\", \"vector\", \"array\", "
          "\"struct\", \"function\", \"void\", \"label\", ...")
      .def_prop_ro(
          "bits", [](TypeRef &R) { return R.type().getScalarSizeInBits(); },
          "Bits of a number or of a vector's element; 0 for other types.")
      .def_prop_ro("parts", &partsOf,
                   "The contained types; for a function: its result, then its "
                   "parameters.")
      .def_prop_ro("count", &countOf,
                   "The number of elements; for a scalable vector the minimum.")
      .def_prop_ro(
          "is_vararg",
          [](TypeRef &R) {
            auto *F = llvm::dyn_cast<llvm::FunctionType>(&R.type());
            return F && F->isVarArg();
          },
          "Whether a function type takes more arguments than it lists.")
      .def_prop_ro(
          "is_scalable", [](TypeRef &R) { return R.type().isScalableTy(); },
          "Whether a vector's length is a multiple known only at run time.")
      .def_prop_ro(
          "name",
          [](TypeRef &R) {
            auto *S = llvm::dyn_cast<llvm::StructType>(&R.type());
            return textOf(S && S->hasName() ? S->getName() : "");
          },
          "The name of a named struct.")
      .def_prop_ro(
          "address_space",
          [](TypeRef &R) -> std::optional<unsigned> {
            if (!R.type().isPointerTy())
              return std::nullopt;
            return R.type().getPointerAddressSpace();
          },
          "The address space of a pointer; None for other types.")
      .def_prop_ro("size", &sizeOf,
                   "Bytes from one to the next in an array, if known.")
      .def("__str__", [](TypeRef &R) { return text(printedType(R.type())); })
      .def("__repr__",
           [](TypeRef &R) {
             return text("<Type " + printedType(R.type()) + ">");
           })
      .def("__eq__", &equals, nb::arg("other").none(),
           nb::sig("def __eq__(self, other: object) -> bool"))
      .def("__hash__", [](TypeRef &R) {
        return static_cast<Py_hash_t>(reinterpret_cast<uintptr_t>(R.T) >> 4);
      });
}

} // namespace passpilot
