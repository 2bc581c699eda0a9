// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Python's handles to the IR. Handles of the same value are equal. A handle
// keeps the module alive and never dangles: once its value is erased, every use
// raises StaleViewError.
//
// For a pass: moduleOf(), valueOf() and loopOf() make its unit, and a
// PassAccess (hosted/access.h) around the call limits its changes.
// GIL: everything here requires it.

#pragma once

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
using ArgumentRef = RefOf<llvm::Argument, ValueRef>;
using BlockRef = RefOf<llvm::BasicBlock, ValueRef>;
using ConstantRef = RefOf<llvm::Constant, ValueRef>;
using GlobalRef = RefOf<llvm::GlobalValue, ConstantRef>;
using FunctionRef = RefOf<llvm::Function, GlobalRef>;
using VariableRef = RefOf<llvm::GlobalVariable, GlobalRef>;
using AliasRef = RefOf<llvm::GlobalAlias, GlobalRef>;
using InstructionRef = RefOf<llvm::Instruction, ValueRef>;
using CallRef = RefOf<llvm::CallBase, InstructionRef>;

/// The word for a kind of values in messages.
template <typename T> constexpr const char *Noun = "value";
template <> inline constexpr const char *Noun<llvm::Argument> = "argument";
template <> inline constexpr const char *Noun<llvm::BasicBlock> = "block";
template <> inline constexpr const char *Noun<llvm::Constant> = "constant";
template <> inline constexpr const char *Noun<llvm::GlobalValue> = "global";
template <> inline constexpr const char *Noun<llvm::Function> = "function";
template <>
inline constexpr const char *Noun<llvm::GlobalVariable> = "global variable";
template <> inline constexpr const char *Noun<llvm::GlobalAlias> = "alias";
template <>
inline constexpr const char *Noun<llvm::Instruction> = "instruction";
template <> inline constexpr const char *Noun<llvm::CallBase> = "call";

/// The value of handle \p R; raises as ValueRef::get() does.
template <typename Ref> typename Ref::IR &of(const Ref &R) {
  return static_cast<typename Ref::IR &>(R.get(Noun<typename Ref::IR>));
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

/// Runs LLVM's passes on \p F or, if it is null, on the module.
bool runPasses(HostedModule &H, llvm::Function *F, const std::string &Pipeline);
[[noreturn]] void refuseOperand(const char *Asker, const char *Expected,
                                const std::string &Got);
/// The first location of locationChain(), and the others.
std::optional<SourceLocation> sourceLocation(const llvm::Instruction &I);
std::vector<SourceLocation> inlinedAt(const llvm::Instruction &I);

void bindIRModule(nb::class_<HostedModule> &C);

} // namespace passpilot
