// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The inliner for MLIR's Python bindings. This file is built into a library of
// its own, for the MLIR and the LLVM that the bindings bring along.

#include "inline_pass.h"

#include "mlir/IR/Dialect.h"

using namespace mlir;

namespace passpilot {

namespace {

class HostedInline final : public PassWrapper<HostedInline, InlinePass> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(HostedInline)

  explicit HostedInline(Session *S) : S(S) {}

  StringRef getName() const override { return "AdvisedInline"; }
  using InlinePass::configure;
  void runOnOperation() override {
    Location Where = getOperation()->getLoc();
    if (!canRun() || !inlineAccepted(S, Where) || (S && S->stopped()))
      signalPassFailure();
  }

private:
  Session *const S; ///< null: inline everything legal
};

/// Takes all operations of a dialect that MLIR does not know as legal.
class UnknownDialect final : public Dialect {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(UnknownDialect)

  UnknownDialect(StringRef Name, MLIRContext *Context)
      : Dialect(Name, Context, TypeID::get<UnknownDialect>()) {
    allowUnknownOperations();
    addInterfaces<Takes>();
  }

private:
  struct Takes final : DialectInlinerInterface {
    using DialectInlinerInterface::DialectInlinerInterface;
    bool isLegalToInline(Operation *, Region *, bool,
                         IRMapping &) const override {
      return true;
    }
    bool isLegalToInline(Region *, Region *, bool, IRMapping &) const override {
      return true;
    }
    void handleTerminator(Operation *, Block *) const override {} // no return
  };
};

} // namespace

} // namespace passpilot

/// Inlines calls in an operation. Tells \p Tell the first error, in place of
/// the context's handlers; none if only the session has failed.
extern "C" __attribute__((visibility("default"))) bool
passpilot_mlir_inline(void *Root, void *Session, bool MarkFirst,
                      const char *Pipeline, unsigned Iterations,
                      void (*Tell)(const char *)) {
  auto *Op = static_cast<Operation *>(Root);
  auto Inline = std::make_unique<passpilot::HostedInline>(
      static_cast<passpilot::Session *>(Session));
  if (std::string Why;
      !Inline->configure({MarkFirst, Pipeline, Iterations}, Why)) {
    const std::string Got = std::string(Pipeline) + "': " + Why;
    Tell(("expected passes as default-pipeline, got '" + Got).c_str());
    return false;
  }
  std::string First;
  ScopedDiagnosticHandler Handler(Op->getContext(), [&](Diagnostic &D) {
    const bool Is = D.getSeverity() == DiagnosticSeverity::Error;
    if (Is && First.empty())
      First = D.str();
    return success(Is); // the others go to the context's handlers
  });
  PassManager PM(Op->getContext(), Op->getName().getStringRef());
  PM.enableVerifier(false); // the pipeline around us verifies the module
  PM.addPass(std::move(Inline));
  const bool Good = succeeded(PM.run(Op));
  if (!Good && !First.empty())
    Tell(First.c_str());
  return Good;
}

/// The "call", "caller" or "callee" of a session's current question; null
/// between questions.
extern "C" __attribute__((visibility("default"))) void *
passpilot_mlir_operation(void *Session, const char *Part) {
  auto *Current = static_cast<passpilot::Session *>(Session)->current();
  return Current ? static_cast<passpilot::InlineQuestion *>(Current)->operation(
                       Part)
                 : nullptr;
}

/// Lets operations of a dialect be inlined if MLIR does not know it. Call this
/// while no pass runs.
extern "C" __attribute__((visibility("default"))) void
passpilot_mlir_allow(void *Context, const char *Name) {
  using passpilot::UnknownDialect;
  auto *C = static_cast<MLIRContext *>(Context);
  if (C->getOrLoadDialect(Name))
    return;
  const StringRef Kept = StringAttr::get(C, Name).getValue(); // as long as C
  C->getOrLoadDialect(Kept, TypeID::get<UnknownDialect>(), [&] {
    return std::make_unique<UnknownDialect>(Kept, C);
  });
}

/// Makes the properties of operations that MLIR does not know attributes: their
/// symbols count as used then, and passes in Python can list them.
extern "C" __attribute__((visibility("default"))) void
passpilot_mlir_show_properties(void *Root) {
  static_cast<Operation *>(Root)->walk([](Operation *Op) {
    if (Op->isRegistered())
      return;
    auto Hidden =
        dyn_cast_or_null<DictionaryAttr>(Op->getPropertiesAsAttribute());
    if (!Hidden)
      return;
    NamedAttrList All(Op->getDiscardableAttrDictionary());
    All.append(Hidden.begin(), Hidden.end());
    *Op->getPropertiesStorage().as<Attribute *>() = {};
    Op->setDiscardableAttrs(All.getDictionary(Op->getContext()));
  });
}
