// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes in Python under their names. The bindings that such a pass is written
// against have an MLIR of their own, of another version, with which nothing of
// ours can be shared: an operation goes there and comes back as text, in the
// generic form, with locations.

#include "passes.h"
#include "python.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/StringExtras.h"

#include <deque>
#include <limits>

using namespace mlir;

namespace passpilot {

namespace {

struct Definition {
  std::string Name, Anchor, Doc;
};

class UserPass final : public Pass {
public:
  explicit UserPass(const Definition &D)
      : Pass(TypeID::get<UserPass>(), D.Anchor.empty()
                                          ? std::nullopt
                                          : std::optional<StringRef>(D.Anchor)),
        D(D) {}

  StringRef getName() const override { return D.Name; }
  StringRef getArgument() const override { return D.Name; }
  StringRef getDescription() const override { return D.Doc; }
  bool canScheduleOn(RegisteredOperationName Name) const override {
    return D.Anchor.empty() || Name.getStringRef() == D.Anchor;
  }
  std::unique_ptr<Pass> clonePass() const override {
    return std::make_unique<UserPass>(*this);
  }
  LogicalResult
  initializeOptions(StringRef Text,
                    function_ref<LogicalResult(const Twine &)> Refuse) override;
  LogicalResult initialize(MLIRContext *Context) override;
  void runOnOperation() override;

private:
  const Definition &D;
  std::string Options;

  std::optional<std::string> textOf(Operation *Op);
  bool replace(Operation *Op, const std::string &Text);
};

LogicalResult
UserPass::initializeOptions(StringRef Text,
                            function_ref<LogicalResult(const Twine &)> Refuse) {
  Options = Text.str();
  Messages Told;
  if (const PythonCalls *Calls = python(Told))
    Calls->Check(&Told, D.Name.c_str(), Options.c_str());
  for (const Message &M : Told)
    if (M.isError())
      return Refuse(M.Text);
  return success();
}

/// The pass may add operations of any dialect, and none may be loaded any more
/// once passes run.
LogicalResult UserPass::initialize(MLIRContext *Context) {
  Context->loadAllAvailableDialects();
  return success();
}

void UserPass::runOnOperation() {
  Operation *Op = getOperation();
  const std::optional<std::string> Text = textOf(Op);
  if (!Text)
    return signalPassFailure();
  Messages Told;
  const PythonCalls *Calls = python(Told);
  if (Calls)
    Calls->Run(&Told, Op->getName().getStringRef().str().c_str(),
               D.Name.c_str(), Options.c_str(), Text->c_str());
  std::string Result;
  llvm::erase_if(Told, [&Result](const Message &M) {
    if (M.Kind == "result")
      Result = M.Text;
    return M.Kind == "result";
  });
  if (!emitMessages(Told, Op->getLoc()) ||
      (!Result.empty() && !replace(Op, Result)))
    return signalPassFailure();
  if (Result.empty())
    markAllAnalysesPreserved();
}

/// Nothing, with a diagnostic, for what text cannot carry.
std::optional<std::string> UserPass::textOf(Operation *Op) {
  auto Refuse = [&](const char *Got) {
    emitError(Op->getLoc()) << "pass " << D.Name
                            << ": expected an operation that can be handed to "
                               "Python, got "
                            << Got << "; run it on the module";
    return std::nullopt;
  };
  if (Op->getNumOperands() || Op->getNumResults())
    return Refuse("one with operands or results");
  std::string Text;
  llvm::raw_string_ostream OS(Text);
  OpPrintingFlags Flags;
  Flags.enableDebugInfo().printGenericOpForm().skipRegions(false);
  Flags.elideLargeElementsAttrs(std::numeric_limits<int64_t>::max());
  Flags.elideLargeResourceString(std::numeric_limits<int64_t>::max());
  if (Op->getParentOp())
    Flags.useLocalScope();
  Op->print(OS, Flags);
  if (Op->getParentOp() && StringRef(Text).contains("dense_resource<"))
    return Refuse("one with resources, which the module keeps");
  return Text;
}

/// Gives the operation what the one in \p Text has.
bool UserPass::replace(Operation *Op, const std::string &Text) {
  std::string Why;
  OwningOpRef<Operation *> New;
  {
    ScopedDiagnosticHandler Handler(Op->getContext(), [&Why](Diagnostic &Each) {
      Why += (Why.empty() ? "" : "; ") + Each.str();
    });
    const ParserConfig Config(Op->getContext(), /*verifyAfterParse=*/false);
    New = parseSourceString<Operation *>(Text, Config);
  }
  if (!New || New->getName() != Op->getName() ||
      New->getNumRegions() != Op->getNumRegions()) {
    emitError(Op->getLoc()) << "pass " << D.Name << ": expected "
                            << Op->getName() << " that this MLIR reads, got "
                            << (Why.empty() ? "another operation" : Why);
    return false;
  }
  for (auto [To, From] : llvm::zip(Op->getRegions(), New->getRegions()))
    To.takeBody(From);
  Op->setLoc(New->getLoc());
  Op->setDiscardableAttrs(New->getDiscardableAttrDictionary());
  Op->copyProperties(New->getPropertiesStorage());
  return true;
}

} // namespace

bool registerUserPasses(const std::string &Files, Messages &Told) {
  // MLIR keeps references to them.
  static std::deque<Definition> Definitions;
  const PythonCalls *Calls = python(Told);
  if (!Calls)
    return false;
  Calls->Load(&Told, Files.c_str());
  for (const Message &M : Told) {
    if (M.isError())
      return false;
    if (M.Kind != "pass")
      continue;
    auto [Name, Rest] = StringRef(M.Text).split('\n');
    auto [Anchor, Doc] = Rest.split('\n');
    const Definition &D = Definitions.emplace_back(
        Definition{Name.str(), Anchor.str(), Doc.str()});
    registerPass([&D] { return std::make_unique<UserPass>(D); });
  }
  return true;
}

} // namespace passpilot
