// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Short forms to bind classes. Getters and functions take and return LLVM's
// own objects: define.h looks up a handle's object, makes handles of results,
// and lets nanobind derive the signature. A getter may also take the bound
// object itself.

#pragma once

#include "ir.h"

#include "../hosted/mutations.h"
#include "llvm/Analysis/LoopInfo.h"

namespace passpilot {

// The handle's class for each class of LLVM's.
ValueRef *refTo(llvm::Value *);
ArgumentRef *refTo(llvm::Argument *);
BlockRef *refTo(llvm::BasicBlock *);
ConstantRef *refTo(llvm::Constant *);
GlobalRef *refTo(llvm::GlobalValue *);
FunctionRef *refTo(llvm::Function *);
VariableRef *refTo(llvm::GlobalVariable *);
AliasRef *refTo(llvm::GlobalAlias *);
InstructionRef *refTo(llvm::Instruction *);
CallRef *refTo(llvm::CallBase *);
LoopRef *refTo(llvm::Loop *);
TypeRef *refTo(llvm::Type *);
template <typename T>
using RefTo = std::remove_pointer_t<decltype(refTo(std::declval<T *>()))>;

/// A handle, or a list of handles, with the class in the signature.
template <typename Ref> using Handle = nb::typed<nb::object, Ref>;
template <typename Ref> using Handles = nb::typed<nb::list, Ref>;

inline llvm::Type &of(const TypeRef &R) { return R.type(); }
inline llvm::Loop &of(const LoopRef &R) { return R.loop(); }
inline llvm::Module &of(HostedModule &H) { return readable(H).module(); }

inline const Owner &ownerOf(const ValueRef &R) { return R.O; }
inline const Owner &ownerOf(const LoopRef &R) { return R.O; }
inline const Owner &ownerOf(const TypeRef &R) { return R.O; }

inline nb::object handleTo(const Owner &O, llvm::Value *V) {
  return valueOf(O, V);
}
inline nb::object handleTo(const Owner &O, llvm::Loop *L) {
  return L ? loopOf(O, *L) : nb::none();
}

template <typename T, typename = void> constexpr bool HasHandle = false;
template <typename T>
constexpr bool HasHandle<T *, std::void_t<RefTo<T>>> =
    !std::is_same_v<RefTo<T>, TypeRef>;
template <typename T, typename = void> struct ElementOf {
  using Type = void;
};
template <typename T>
struct ElementOf<T, std::void_t<decltype(*std::begin(std::declval<T &>()))>> {
  using Type = std::decay_t<decltype(*std::begin(std::declval<T &>()))>;
};

/// Converts a result: pointers and ranges of pointers to handles, and text
/// that need not be UTF-8.
template <typename Bound, typename T> auto pythonOf(Bound &Self, T &&Result) {
  using Plain = std::decay_t<T>;
  using Element = typename ElementOf<Plain>::Type;
  if constexpr (HasHandle<Plain>) {
    using Ref = RefTo<std::remove_pointer_t<Plain>>;
    return Handle<Ref>(handleTo(ownerOf(Self), Result));
  } else if constexpr (HasHandle<Element>) {
    Handles<RefTo<std::remove_pointer_t<Element>>> List{nb::list()};
    for (Element Each : Result)
      List.append(handleTo(ownerOf(Self), Each));
    return List;
  } else if constexpr (std::is_convertible_v<Plain, llvm::Type *>) {
    return TypeRef{ownerOf(Self), Result};
  } else if constexpr (std::is_same_v<Plain, llvm::StringRef>) {
    return text(Result);
  } else if constexpr (std::is_same_v<Plain, std::optional<llvm::StringRef>>) {
    return Result ? std::optional(text(*Result)) : std::nullopt;
  } else {
    return Plain(std::forward<T>(Result));
  }
}

template <typename Bound, typename Function>
auto resultOf(Bound &Self, const Function &Get) {
  if constexpr (std::is_invocable_v<const Function &, Bound &>)
    return pythonOf(Self, Get(Self));
  else
    return pythonOf(Self, Get(of(Self)));
}

/// Adds read-only properties to a class: P("name", "What it is.", getter).
template <typename Class> class Properties {
  using Bound = typename Class::Type;
  Class &C;

public:
  explicit Properties(Class &C) : C(C) {}
  /// \p More may be the signature, if the getter's result does not say it.
  template <typename Function, typename... Extra>
  void operator()(const char *Name, const char *Doc, Function Get,
                  const Extra &...More) {
    C.def_prop_ro(
        Name, [Get](Bound &Self) { return resultOf(Self, Get); }, More..., Doc);
  }
  template <typename Function> void operator()(const char *Name, Function Get) {
    C.def_prop_ro(Name, [Get](Bound &Self) { return resultOf(Self, Get); });
  }
  /// For a getter that returns null where Python gets None.
  template <typename Function>
  void optional(const char *Name, const char *Doc, Function Get) {
    C.def_prop_ro(
        Name, [Get](Bound &Self) { return std::optional(resultOf(Self, Get)); },
        Doc);
  }
};

/// A parameter of a function in hosted/, as Python passes it.
template <typename T, typename = void> struct Parameter {
  using Type = const std::decay_t<T> &;
  /// The binding's argument outlives the call.
  static Type read(const Owner &, Type Value, const char *) {
    return Value; // NOLINT(bugprone-return-const-ref-from-parameter)
  }
};
template <> struct Parameter<llvm::StringRef> : Parameter<std::string> {};
template <typename T> struct Parameter<T &, std::void_t<RefTo<T>>> {
  using Type = const RefTo<T> &;
  static T &read(const Owner &O, Type R, const char *Asker) {
    if constexpr (std::is_same_v<RefTo<T>, TypeRef>)
      return typeIn(O, R, Asker);
    else
      return llvm::cast<T>(operandIn(O, R, Asker));
  }
};
template <typename T> struct Parameter<T *, std::void_t<RefTo<T>>> {
  using Type = const RefTo<T> *;
  static T *read(const Owner &O, Type R, const char *Asker) {
    return R ? &Parameter<T &>::read(O, *R, Asker) : nullptr;
  }
};
template <> struct Parameter<llvm::MDNode *> {
  using Type = nb::object;
  static llvm::MDNode *read(const Owner &O, const Type &V, const char *Asker) {
    return nodeIn(O, V, Asker);
  }
};
template <> struct Parameter<const std::vector<llvm::Value *> &> {
  using Type = nb::typed<nb::sequence, ValueRef>;
  static std::vector<llvm::Value *> read(const Owner &O, const Type &Values,
                                         const char *Asker) {
    std::vector<llvm::Value *> All;
    for (nb::handle V : Values)
      All.push_back(&operandIn(O, nb::cast<const ValueRef &>(V), Asker));
    return All;
  }
};
template <> struct Parameter<const std::vector<Incoming> &> {
  using Type =
      nb::typed<nb::sequence, nb::typed<nb::tuple, ValueRef, BlockRef>>;
  static std::vector<Incoming> read(const Owner &O, const Type &Pairs,
                                    const char *Asker) {
    std::vector<Incoming> All;
    for (nb::handle Pair : Pairs) {
      const auto [V, From] = nb::cast<std::pair<nb::object, nb::object>>(Pair);
      All.emplace_back(&operandIn(O, nb::cast<const ValueRef &>(V), Asker),
                       llvm::cast<llvm::BasicBlock>(&operandIn(
                           O, nb::cast<const BlockRef &>(From), Asker)));
    }
    return All;
  }
};

template <typename Class>
using ObjectOf = std::remove_reference_t<decltype(of(
    std::declval<typename Class::Type &>()))>;

/// Adds a function of hosted/ as a method; \p More are its arguments.
template <typename Class, typename Result, typename... Rest, typename... Extra>
void method(Class &C, const char *Name, const char *Doc,
            Result (*Run)(HostedModule &, ObjectOf<Class> &, Rest...),
            const Extra &...More) {
  using Bound = typename Class::Type;
  C.def(
      Name,
      [Run, Name](Bound &Self, typename Parameter<Rest>::Type... Given) {
        const Owner &O = ownerOf(Self);
        auto Call = [&]() -> decltype(auto) {
          return Run(*O.H, of(Self), Parameter<Rest>::read(O, Given, Name)...);
        };
        if constexpr (std::is_reference_v<Result>)
          return pythonOf(Self, &Call());
        else if constexpr (std::is_void_v<Result>)
          Call();
        else
          return pythonOf(Self, Call());
      },
      More..., Doc);
}

/// Adds a property that \p Set, a function of hosted/, changes.
template <typename Class, typename Function>
void writable(Class &C, const char *Name, const char *Doc, Function Get,
              void (*Set)(HostedModule &, ObjectOf<Class> &,
                          const std::string &)) {
  using Bound = typename Class::Type;
  C.def_prop_rw(
      Name, [Get](Bound &Self) { return resultOf(Self, Get); },
      [Set](Bound &Self, const std::string &Text) {
        Set(*Self.O.H, of(Self), Text);
      },
      Doc);
}

/// The signature of the methods that attach metadata.
inline const nb::sig SetMetadata(
    "def set_metadata(self, kind: str, value: Sequence[object] | Metadata | "
    "None) -> None");

/// Adds the methods that change the attributes at LLVM's index \p Where.
template <typename Class>
void attributeMethods(Class &C, unsigned Where, const char *Add,
                      const char *AddDoc, const char *Remove,
                      const char *RemoveDoc) {
  using Bound = typename Class::Type;
  C.def(
       Add,
       [Where](Bound &R, const std::string &Text) {
         addAttribute(*R.O.H, of(R), Where, Text);
       },
       nb::arg("text"), AddDoc)
      .def(
          Remove,
          [Where](Bound &R, const std::string &Name) {
            removeAttribute(*R.O.H, of(R), Where, Name);
          },
          nb::arg("name"), RemoveDoc);
}
/// LLVM's index of the attributes of argument \p I.
inline unsigned ofArgument(unsigned I) {
  return llvm::AttributeList::FirstArgIndex + std::min(I, 1u << 30);
}

inline llvm::Value *usedValue(const llvm::Use &U) { return U.get(); }

/// Compares and hashes by an address, the key; \p Match may refuse equal keys.
template <typename Class, typename Key, typename Match>
void defineIdentity(Class &C, Key KeyOf, Match Matches) {
  using Bound = typename Class::Type;
  C.def(
       "__eq__",
       [=](const Bound &A, nb::handle Other) {
         const Bound *B = nullptr;
         return nb::try_cast<const Bound *>(Other, B, false) && B &&
                KeyOf(A) == KeyOf(*B) && Matches(A, *B);
       },
       nb::arg("other").none(),
       nb::sig("def __eq__(self, other: object) -> bool"))
      .def("__hash__", [=](const Bound &Self) {
        return static_cast<Py_hash_t>(
            reinterpret_cast<uintptr_t>(KeyOf(Self)) >> 4);
      });
}
template <typename Class, typename Key>
void defineIdentity(Class &C, Key KeyOf) {
  defineIdentity(C, KeyOf, [](const auto &, const auto &) { return true; });
}

} // namespace passpilot
