// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Registers passes in Python by name. The Python bindings have their
// own MLIR of another version, so they run in another process: an
// operation goes there and comes back as text, in the generic form with
// locations.

#include "../loaded/firewall.h"

#include "exchange.h"
#include "mlir_compilation.h"
#include "mlir_passes.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/CommandLine.h"

#include <deque>

using namespace mlir;

namespace passpilot {

namespace {

struct Definition {
  std::string Name, Anchor, Doc;
};

class MLIRUserPass final : public Pass {
public:
  explicit MLIRUserPass(const Definition &D)
      : Pass(TypeID::get<MLIRUserPass>(),
             D.Anchor.empty() ? std::nullopt
                              : std::optional<StringRef>(D.Anchor)),
        D(D) {}

  StringRef getName() const override { return D.Name; }
  StringRef getArgument() const override { return D.Name; }
  StringRef getDescription() const override { return D.Doc; }
  bool canScheduleOn(RegisteredOperationName Name) const override {
    return D.Anchor.empty() || Name.getStringRef() == D.Anchor;
  }
  std::unique_ptr<Pass> clonePass() const override {
    return std::make_unique<MLIRUserPass>(*this);
  }
  LogicalResult
  initializeOptions(StringRef Text,
                    function_ref<LogicalResult(const Twine &)> Refuse) override;
  LogicalResult initialize(MLIRContext *Context) override;
  void runOnOperation() override;

private:
  const Definition &D;
  std::string Options;
  std::shared_ptr<MLIRCompilation> Shared;

  void runInPython();
  void fail() {
    Shared->PassFailed = true;
    signalPassFailure();
  }
};

LogicalResult MLIRUserPass::initializeOptions(
    StringRef Text, function_ref<LogicalResult(const Twine &)> Refuse) {
  Messages Report;
  contained(Report, [&] {
    Options = Text.str();
    if (const auto *Calls = python<MLIRCalls>(Report))
      Calls->Check(&Report, D.Name.c_str(), Options.c_str());
  });
  for (const Message &M : Report)
    if (M.isError())
      return Refuse(M.Text);
  return success();
}

/// Loads all dialects: the pass may add operations of any dialect, and dialects
/// cannot be loaded once passes run.
LogicalResult MLIRUserPass::initialize(MLIRContext *Context) {
  Context->loadAllAvailableDialects();
  Shared = MLIRCompilation::of(Context);
  return success(Shared != nullptr);
}

void MLIRUserPass::runOnOperation() {
  if (Shared->PassFailed ||
      !runContained(getOperation(), [&] { runInPython(); }))
    fail();
}

void MLIRUserPass::runInPython() {
  Operation *Op = getOperation();
  auto Refuse = [&](const Twine &Text) {
    emitError(Op->getLoc()) << "pass " << D.Name << ": expected " << Text;
    fail();
  };
  std::string Why;
  const std::optional<std::string> Text = textOf(Op, Why);
  if (!Text)
    return Refuse("an operation that can be handed to Python, got " + Why +
                  "; run it on the module");
  Messages Report;
  if (const auto *Calls = python<MLIRCalls>(Report))
    Calls->Run(&Report, Shared->number(),
               Op->getName().getStringRef().str().c_str(), D.Name.c_str(),
               Options.c_str(), Text->c_str(), /*Inside=*/Op->getParentOp(),
               getContext().allowsUnregisteredDialects());
  std::string Result;
  for (Message &M : Report)
    if (M.Kind == "result")
      Result.swap(M.Text);
  llvm::erase_if(Report, [](const Message &M) { return M.Kind == "result"; });
  if (!emitMessages(Report, Op->getLoc()))
    return fail();
  if (Result.empty())
    return markAllAnalysesPreserved();
  if (!replaceBy(Op, Result, Why))
    Refuse(Op->getName().getStringRef() + " that this MLIR reads, got: " + Why);
}

/// Makes later contexts run in one thread. The text of a nested operation has
/// declarations of its siblings, which passes on other threads could change.
void endThreads() {
  auto *O = static_cast<llvm::cl::opt<bool> *>(
      llvm::cl::getRegisteredOptions().lookup("mlir-disable-threading"));
  if (O)
    O->setValue(true);
}

MLIRCalls ModuleCalls{};

} // namespace

const PythonModule LibraryModule = {"passpilot.passes.mlir.stock.door",
                                    &ModuleCalls};

static bool isKnown(StringRef Name) {
  return PassInfo::lookup(Name) || PassPipelineInfo::lookup(Name);
}

/// Registers the passes that Python has reported in \p Report.
static bool registerReported(Messages &Report) {
  // MLIR keeps references to the definitions.
  static std::deque<Definition> Definitions;
  const Messages Passes = std::move(Report);
  Report.clear();
  for (const Message &M : Passes) {
    if (M.isError()) {
      Report.push_back(M);
      return false;
    }
    if (M.Kind != "pass")
      continue;
    auto [Name, Rest] = StringRef(M.Text).split('\n');
    auto [Anchor, Doc] = Rest.split('\n');
    if (isKnown(Name)) {
      Report.push_back(
          {"error", "pass '" + Name.str() +
                        "': expected a new name, got one that MLIR "
                        "itself owns"});
      return false;
    }
    endThreads();
    const Definition &D = Definitions.emplace_back(
        Definition{Name.str(), Anchor.str(), Doc.str()});
    registerPass([&D] { return std::make_unique<MLIRUserPass>(D); });
  }
  return true;
}

bool registerUserPasses(const std::string &Files, Messages &Report) {
  const auto *Calls = python<MLIRCalls>(Report);
  if (!Calls)
    return false;
  Calls->Load(&Report, Files.c_str());
  return registerReported(Report);
}

/// The names in a pipeline that MLIR does not know as passes: those outside of
/// options that no `(` follows.
static std::string unknownNames(StringRef Pipeline) {
  std::string Unknown;
  size_t Braces = 0, Begin = 0;
  for (size_t I = 0; I <= Pipeline.size(); ++I) {
    const char C = I < Pipeline.size() ? Pipeline[I] : ',';
    if (C != '{' && C != '}' && C != '(' && C != ')' && C != ',')
      continue;
    const StringRef Name = Pipeline.slice(Begin, I).trim();
    if (!Braces && C != '(' && !Name.empty() && !isKnown(Name))
      Unknown += (Unknown.empty() ? "" : " ") + Name.str();
    Braces += C == '{';
    Braces -= C == '}' && Braces;
    Begin = I + 1;
  }
  return Unknown;
}

bool registerNamedPasses(StringRef Pipeline, Messages &Report) {
  const std::string Names = unknownNames(Pipeline);
  if (Names.empty())
    return true;
  const auto *Calls = python<MLIRCalls>(Report);
  if (!Calls)
    return false;
  Calls->Find(&Report, Names.c_str());
  return registerReported(Report);
}

} // namespace passpilot
