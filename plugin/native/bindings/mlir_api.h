// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The C API of the installed MLIR bindings, which is not linked and may have
// any version. The structs are those of mlir-c/Support.h and mlir-c/IR.h.

#ifndef PASSPILOT_BINDINGS_MLIR_API_H
#define PASSPILOT_BINDINGS_MLIR_API_H

#include "core.h"
#include "python_error.h"

#include <dlfcn.h>
#include <set>

namespace passpilot::mlir_api {

struct Operation {
  void *Pointer;
};
struct Block {
  void *Pointer;
};
struct Region {
  void *Pointer;
};
struct Attribute {
  const void *Pointer;
};
struct Identifier {
  const void *Pointer;
};
struct Location {
  const void *Pointer;
};
struct Context {
  void *Pointer;
};
struct Value {
  const void *Pointer;
};
struct Rewriter {
  void *Pointer;
};
struct NamedAttribute {
  Identifier Name;
  Attribute Value;
};
struct Text {
  const char *Data;
  size_t Length;
  std::string_view view() const { return {Data, Length}; }
};

/// The pointer in a capsule of the bindings.
inline void *pointerIn(nb::handle Capsule) {
  void *Pointer =
      PyCapsule_GetPointer(Capsule.ptr(), PyCapsule_GetName(Capsule.ptr()));
  if (!Pointer)
    throw nb::python_error();
  return Pointer;
}

/// The functions that we use, from one library.
class MLIRApi {
  struct Symbol {
    void *Address;
    template <typename Function> operator Function *() const {
      return reinterpret_cast<Function *>(Address);
    }
  };
  void *const Handle; // declared before the functions found in it
  const std::set<std::string, std::less<>> Plain;

public:
  MLIRApi(const std::string &Library, const std::vector<std::string> &Plain)
      : Handle(dlopen(Library.c_str(), RTLD_NOW | RTLD_NOLOAD)),
        Plain(Plain.begin(), Plain.end()) {
    if (!Handle)
      raiseError("InputError", Library + ": expected MLIR's C API, loaded");
  }

  /// Whether the own attributes of operations called \p Full mention no
  /// symbols.
  bool isPlain(std::string_view Full) const {
    return Plain.count(Full) || Plain.count(Full.substr(0, Full.find('.')));
  }

  /// Calls \p Do with each block of an operation's regions.
  template <typename Function> void blocks(Operation Op, Function Do) const {
    for (intptr_t R = 0, End = Regions(Op); R < End; ++R)
      for (Block B = FirstBlock(RegionAt(Op, R)); B.Pointer; B = NextBlock(B))
        Do(B);
  }
  template <typename Function> void operations(Block B, Function Do) const {
    for (Operation Op = First(B); Op.Pointer; Op = Next(Op))
      Do(Op);
  }

  Identifier (*Name)(Operation) = find("mlirOperationGetName");
  Text (*TextOf)(Identifier) = find("mlirIdentifierStr");
  intptr_t (*Regions)(Operation) = find("mlirOperationGetNumRegions");
  Region (*RegionAt)(Operation, intptr_t) = find("mlirOperationGetRegion");
  Block (*FirstBlock)(Region) = find("mlirRegionGetFirstBlock");
  Block (*NextBlock)(Block) = find("mlirBlockGetNextInRegion");
  Operation (*First)(Block) = find("mlirBlockGetFirstOperation");
  Operation (*Next)(Operation) = find("mlirOperationGetNextInBlock");
  intptr_t (*Attributes)(Operation) = find("mlirOperationGetNumAttributes");
  NamedAttribute (*AttributeAt)(Operation,
                                intptr_t) = find("mlirOperationGetAttribute");
  intptr_t (*Discardable)(Operation) =
      find("mlirOperationGetNumDiscardableAttributes");
  NamedAttribute (*DiscardableAt)(Operation, intptr_t) =
      find("mlirOperationGetDiscardableAttribute");
  Attribute (*AttributeNamed)(Operation,
                              Text) = find("mlirOperationGetAttributeByName");
  bool (*IsFlatSymbol)(Attribute) = find("mlirAttributeIsAFlatSymbolRef");
  Text (*FlatSymbol)(Attribute) = find("mlirFlatSymbolRefAttrGetValue");
  bool (*IsSymbol)(Attribute) = find("mlirAttributeIsASymbolRef");
  Text (*RootSymbol)(Attribute) = find("mlirSymbolRefAttrGetRootReference");
  bool (*IsArray)(Attribute) = find("mlirAttributeIsAArray");
  intptr_t (*Elements)(Attribute) = find("mlirArrayAttrGetNumElements");
  Attribute (*ElementAt)(Attribute, intptr_t) = find("mlirArrayAttrGetElement");
  bool (*IsDictionary)(Attribute) = find("mlirAttributeIsADictionary");
  intptr_t (*Entries)(Attribute) = find("mlirDictionaryAttrGetNumElements");
  NamedAttribute (*EntryAt)(Attribute,
                            intptr_t) = find("mlirDictionaryAttrGetElement");

  Location (*LocationOf)(Operation) = find("mlirOperationGetLocation");
  void (*SetLocation)(Operation, Location) = find("mlirOperationSetLocation");
  Context (*ContextOf)(Operation) = find("mlirOperationGetContext");
  Location (*Unknown)(Context) = find("mlirLocationUnknownGet");
  bool (*IsCallSite)(Location) = find("mlirLocationIsACallSite");
  Location (*CallSite)(Location Callee,
                       Location Caller) = find("mlirLocationCallSiteGet");
  Location (*CalleeOf)(Location) = find("mlirLocationCallSiteGetCallee");
  Location (*CallerOf)(Location) = find("mlirLocationCallSiteGetCaller");
  intptr_t (*Arguments)(Block) = find("mlirBlockGetNumArguments");
  Value (*ArgumentAt)(Block, intptr_t) = find("mlirBlockGetArgument");
  Location (*LocationOfValue)(Value) = find("mlirValueGetLocation");
  void (*SetArgumentLocation)(Value,
                              Location) = find("mlirBlockArgumentSetLocation");
  void (*Remove)(Operation) = find("mlirOperationRemoveFromParent");
  void (*Append)(Block, Operation) = find("mlirBlockAppendOwnedOperation");
  intptr_t (*Operands)(Operation) = find("mlirOperationGetNumOperands");
  Value (*OperandAt)(Operation, intptr_t) = find("mlirOperationGetOperand");
  Operation (*Terminator)(Block) = find("mlirBlockGetTerminator");
  void (*Destroy)(Operation) = find("mlirOperationDestroy");
  void (*Detach)(Block) = find("mlirBlockDetach");
  Region (*RegionOf)(Block) = find("mlirBlockGetParentRegion");
  void (*InsertAfter)(Region, Block Place,
                      Block) = find("mlirRegionInsertOwnedBlockAfter");
  Rewriter (*CreateRewriter)(Context) = find("mlirIRRewriterCreate");
  void (*DestroyRewriter)(Rewriter) = find("mlirIRRewriterDestroy");
  void (*InlineBefore)(Rewriter, Block, Operation, intptr_t, const Value *) =
      find("mlirRewriterBaseInlineBlockBefore");
  void (*Replace)(Rewriter, Operation, intptr_t,
                  const Value *) = find("mlirRewriterBaseReplaceOpWithValues");

private:
  Symbol find(const char *Function) const {
    void *Address = dlsym(Handle, Function);
    if (!Address)
      raiseError("InputError", std::string("MLIR's C API: expected ") +
                                   Function + ", got none; use newer bindings");
    return {Address};
  }
};

} // namespace passpilot::mlir_api

#endif
