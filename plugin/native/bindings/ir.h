// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Python's handles to the IR. Handles of the same value are equal. A handle
// keeps the module alive and never dangles: once its value is erased, every use
// raises StaleViewError.
//
// For a pass: moduleOf(), valueOf() and loopOf() make its unit, and a
// PassAccess (hosted/access.h) around the call limits its changes.
// GIL: everything here requires it.

#ifndef PASSPILOT_BINDINGS_IR_H
#define PASSPILOT_BINDINGS_IR_H

#include "../hosted/module.h"
#include "compiling.h"
#include "integer.h"
#include "python_error.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/GlobalAlias.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Module.h"

namespace llvm {
class Loop;
}

namespace passpilot {

/// The Python object that owns a module.
struct Owner {
  nb::object Object;
  HostedModule *H = nullptr;
};
/// The owner of a module that Python holds.
Owner ownerOf(HostedModule &H);

/// A handle of a value in the module; the classes below are its kinds.
class ValueRef {
public:
  using IR = llvm::Value;
  static constexpr const char *Noun = "value";

  ValueRef(const Owner &O, llvm::Value &V)
      : O(O), Key(&V), N(O.H->handles().acquire(V)) {}
  ValueRef(const ValueRef &) = delete;
  ~ValueRef();

  const Owner O;
  /// The value's address, kept after its death; used only as the hash.
  const void *const Key;
  /// The value; null if it was erased.
  llvm::Value *peek() const { return *N; }
  /// Raises StaleViewError if the value was erased, InputError if another
  /// thread is compiling the module.
  llvm::Value &get(const char *Asker) const;

private:
  HandleTable::Node *N;
};

template <typename T, typename Base> struct RefOf : Base {
  using IR = T;
  using Base::Base;
};
struct ArgumentRef : RefOf<llvm::Argument, ValueRef> {
  using RefOf::RefOf;
  static constexpr const char *Noun = "argument";
};
struct BlockRef : RefOf<llvm::BasicBlock, ValueRef> {
  using RefOf::RefOf;
  static constexpr const char *Noun = "block";
};
struct ConstantRef : RefOf<llvm::Constant, ValueRef> {
  using RefOf::RefOf;
  static constexpr const char *Noun = "constant";
};
struct GlobalRef : RefOf<llvm::GlobalValue, ConstantRef> {
  using RefOf::RefOf;
  static constexpr const char *Noun = "global";
};
struct FunctionRef : RefOf<llvm::Function, GlobalRef> {
  using RefOf::RefOf;
  static constexpr const char *Noun = "function";
};
struct VariableRef : RefOf<llvm::GlobalVariable, GlobalRef> {
  using RefOf::RefOf;
  static constexpr const char *Noun = "global variable";
};
struct AliasRef : RefOf<llvm::GlobalAlias, GlobalRef> {
  using RefOf::RefOf;
  static constexpr const char *Noun = "alias";
};
struct InstructionRef : RefOf<llvm::Instruction, ValueRef> {
  using RefOf::RefOf;
  static constexpr const char *Noun = "instruction";
};
struct CallRef : RefOf<llvm::CallBase, InstructionRef> {
  using RefOf::RefOf;
  static constexpr const char *Noun = "call";
};

/// The value of handle \p R; raises as ValueRef::get() does.
template <typename Ref> typename Ref::IR &of(const Ref &R) {
  return static_cast<typename Ref::IR &>(R.get(Ref::Noun));
}

/// A type, which lives as long as the module.
struct TypeRef {
  Owner O;
  llvm::Type *T;
  llvm::Type &type() const;
};

/// A natural loop, found by its header at each use.
struct LoopRef {
  Owner O;
  nb::object Header;
  llvm::Loop &loop() const;
};

/// A handle of \p V, of the class for its kind; None for null.
nb::object valueOf(const Owner &O, llvm::Value *V);
nb::object loopOf(const Owner &O, llvm::Loop &L);
/// The passpilot.Module of \p O.
nb::object moduleOf(const Owner &O);

/// A metadata node other than a plain tuple, such as debug information. It
/// lives as long as the module.
struct MetadataRef {
  Owner O;
  llvm::Metadata *MD;
};
/// Metadata in Python: tuples, text, constants, Metadata or None; `...` for a
/// node inside itself.
nb::object metadataOf(const Owner &O, llvm::Metadata *MD);
/// The (kind, value) pairs attached to \p V, without debug locations and
/// subprograms. One kind may occur several times.
nb::list attachmentsOf(const Owner &O, const llvm::Value &V);

/// The value of \p R as an operand in \p O's module; raises IRError if it
/// belongs to another module.
llvm::Value &operandIn(const Owner &O, const ValueRef &R, const char *What);
llvm::Type &typeIn(const Owner &O, const TypeRef &R, const char *What);
/// Makes a node from a Python value, null from None; see docs/ir.md.
llvm::MDNode *nodeIn(const Owner &O, nb::handle Value, const char *What);

/// A list of the handles of a range of values.
template <typename Range> nb::list handlesOf(const Owner &O, Range &&Values) {
  nb::list L;
  for (auto &V : Values)
    L.append(valueOf(O, &V));
  return L;
}

/// LLVM's text for Python; it need not be UTF-8.
nb::str textOf(llvm::StringRef S);

void bindIRModule(nb::class_<HostedModule> &C);

nb::list loopsOfFunction(const FunctionRef &R);
nb::object loopOfBlock(const BlockRef &R);
void bindFunctionAnalyses(nb::class_<FunctionRef, GlobalRef> &C);
void bindBlockAnalyses(nb::class_<BlockRef, ValueRef> &C);
void bindInstructionAnalyses(nb::class_<InstructionRef, ValueRef> &C);
void bindCallAnalyses(nb::class_<CallRef, InstructionRef> &C);

void bindValueMutations(nb::class_<ValueRef> &C);
void bindArgumentMutations(nb::class_<ArgumentRef, ValueRef> &C);
void bindGlobalMutations(nb::class_<GlobalRef, ConstantRef> &C);
void bindFunctionMutations(nb::class_<FunctionRef, GlobalRef> &C);
void bindBlockMutations(nb::class_<BlockRef, ValueRef> &C);
void bindInstructionMutations(nb::class_<InstructionRef, ValueRef> &C);
void bindCallMutations(nb::class_<CallRef, InstructionRef> &C);
void bindLoopMutations(nb::class_<LoopRef> &C);
void bindModuleMutations(nb::class_<HostedModule> &C);
/// The setters of linkage, visibility and calling_convention.
void setLinkageOf(GlobalRef &R, const std::string &Text);
void setVisibilityOf(GlobalRef &R, const std::string &Text);
void setCallingConventionOf(FunctionRef &R, const std::string &Text);
void bindInlineCost(nb::module_ &M);

} // namespace passpilot

#endif
