// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "module.h"

#include "setup.h"
#include "target.h"
#include "version.h"

#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/DiagnosticHandler.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/Verifier.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Transforms/IPO/WholeProgramDevirt.h"

using namespace llvm;

namespace passpilot {

namespace {

/// Collects errors for the caller, where LLVM would end the process; remarks
/// and warnings are handled as usual. LLVM queries the handler about remarks
/// before and after each function pass: OnQuery is called each time.
class ErrorCollector final : public DiagnosticHandler {
public:
  ErrorCollector(std::string &Errors, std::function<void()> &OnQuery)
      : Errors(Errors), OnQuery(OnQuery) {}

  bool handleDiagnostics(const DiagnosticInfo &DI) override {
    if (DI.getSeverity() != DS_Error)
      return false;
    raw_string_ostream OS(Errors);
    OS << (Errors.empty() ? "" : "; ");
    if (const auto *Assembly = dyn_cast<DiagnosticInfoSrcMgr>(&DI)) {
      const SMDiagnostic &D = Assembly->getSMDiag(); // without its excerpt
      if (D.getLineNo() > 0)
        OS << D.getFilename() << ":" << D.getLineNo() << ":"
           << D.getColumnNo() + 1 << ": ";
      OS << D.getMessage();
      return true;
    }
    DiagnosticPrinterRawOStream Printer(OS);
    DI.print(Printer);
    return true;
  }

  bool isAnalysisRemarkEnabled(StringRef Pass) const override {
    asked();
    return DiagnosticHandler::isAnalysisRemarkEnabled(Pass);
  }
  bool isMissedOptRemarkEnabled(StringRef Pass) const override {
    asked();
    return DiagnosticHandler::isMissedOptRemarkEnabled(Pass);
  }
  bool isPassedOptRemarkEnabled(StringRef Pass) const override {
    asked();
    return DiagnosticHandler::isPassedOptRemarkEnabled(Pass);
  }
  bool isAnyRemarkEnabled() const override {
    asked();
    return DiagnosticHandler::isAnyRemarkEnabled();
  }

private:
  void asked() const {
    if (OnQuery)
      OnQuery();
  }

  std::string &Errors;
  std::function<void()> &OnQuery;
};

} // namespace

HostedModule::HostedModule() : Context(std::make_unique<LLVMContext>()) {
  Context->setDiagnosticHandler(
      std::make_unique<ErrorCollector>(Diagnosed, OnQuery), true);
}

std::unique_ptr<HostedModule> HostedModule::borrowed(Module &M) {
  std::unique_ptr<HostedModule> H(new HostedModule(M));
  H->Worker = std::this_thread::get_id();
  return H;
}

void HostedModule::end() {
  if (Context)
    return; // the module is not borrowed
  Own.reset();
  Handles.clear();
  (void)M.release();
  Worker = {};
}

void HostedModule::throwDiagnosed() {
  if (Diagnosed.empty())
    return;
  std::string Text;
  std::swap(Text, Diagnosed);
  throw CompilationError(M->getModuleIdentifier() + ": " + Text);
}

std::unique_ptr<HostedModule> HostedModule::fromFile(const std::string &Path,
                                                     const ParseOptions &O) {
  auto Buffer = MemoryBuffer::getFileOrSTDIN(Path, /*IsText=*/true);
  if (!Buffer)
    throw InputError(Path + ": expected a module to read, got: " +
                     Buffer.getError().message());
  std::unique_ptr<HostedModule> H(new HostedModule);
  H->parse(std::move(*Buffer), O);
  return H;
}

std::unique_ptr<HostedModule> HostedModule::fromMemory(StringRef Bytes,
                                                       const std::string &Name,
                                                       const ParseOptions &O) {
  std::unique_ptr<HostedModule> H(new HostedModule);
  H->parse(MemoryBuffer::getMemBufferCopy(Bytes, Name), O);
  return H;
}

/// The data layout that opt would choose for a module without one, or that llc
/// would choose; \p Error says why llc would refuse.
static std::optional<std::string> layoutFor(const ParseOptions &O,
                                            StringRef TripleText,
                                            StringRef Layout,
                                            std::string &Error) {
  if (!O.DataLayout.empty())
    return O.DataLayout;
  Triple T(O.Triple.empty() ? TripleText.str() : Triple::normalize(O.Triple));
  if (!O.ForCodeGen && (!Layout.empty() || T.getTriple().empty()))
    return std::nullopt;
  auto TM = makeTarget(T, "", "", flagOptions(T), CodeGenOptLevel::None, {});
  if (!TM) {
    Error = toString(TM.takeError());
    return std::nullopt;
  }
  return (*TM)->createDataLayout().getStringRepresentation();
}

void HostedModule::parse(std::unique_ptr<MemoryBuffer> Buffer,
                         const ParseOptions &O) {
  const OptionsInUse Used;
  SMDiagnostic Err;
  std::string NoTarget;
  const std::string Name = Buffer->getBufferIdentifier().str();
  Context->setDiscardValueNames(O.DiscardNames);
  if (!O.ForCodeGen)
    Context->enableDebugTypeODRUniquing();
  M = parseIR(*Buffer, Err, *Context,
              ParserCallbacks([&](StringRef Triple, StringRef Layout) {
                return layoutFor(O, Triple, Layout, NoTarget);
              }));
  if (O.ForCodeGen && !NoTarget.empty())
    throw InputError(Name + ": " + NoTarget);
  if (!M) {
    std::string Where = Name;
    if (Err.getLineNo() > 0)
      Where += ":" + std::to_string(Err.getLineNo()) + ":" +
               std::to_string(Err.getColumnNo() + 1);
    const bool IsBinary = Buffer->getBuffer().contains('\0');
    std::string Text =
        IsBinary ? "binary data of another kind" : Err.getMessage().str();
    const StringRef Kind = sys::path::extension(Name);
    throw InputError(Where + ": expected LLVM IR or bitcode, got: " +
                     (Diagnosed.empty() ? Text : Diagnosed) +
                     (is_contained({".c", ".cc", ".cpp", ".cxx"}, Kind)
                          ? "; clang-" PASSPILOT_LLVM_MAJOR_TEXT
                            " -O2 -Xclang -disable-llvm-passes -c -emit-llvm "
                            "makes it of a source"
                      : Kind == ".mlir" ? "; passpilot mlir-opt reads MLIR"
                                        : ""));
  }
  if (O.StripDebug)
    StripDebugInfo(*M);
  if (!O.Triple.empty())
    M->setTargetTriple(Triple(Triple::normalize(O.Triple)));
  if (O.Verify)
    if (std::string Errors = verify(); !Errors.empty())
      throw InputError(Name +
                       ": expected a module that verifies, got: " + Errors);
  throwDiagnosed();
  if (!O.ForCodeGen)
    updateVCallVisibilityInModule(*M, false, {}, false,
                                  [](StringRef) { return true; });
}

void HostedModule::replace(StringRef Bitcode) {
  auto Fresh = std::make_unique<LLVMContext>();
  Fresh->setDiagnosticHandler(
      std::make_unique<ErrorCollector>(Diagnosed, OnQuery), true);
  Fresh->setDiscardValueNames(Context->shouldDiscardValueNames());
  if (Context->isODRUniquingDebugTypes())
    Fresh->enableDebugTypeODRUniquing();
  auto Made = parseBitcodeFile({Bitcode, M->getModuleIdentifier()}, *Fresh);
  if (!Made)
    throw InputError(M->getModuleIdentifier() +
                     ": expected bitcode, got: " + toString(Made.takeError()));
  Own.reset();
  Handles.clear();
  M = std::move(*Made);
  Context = std::move(Fresh); // only now: the old module was in the old one
}

std::string HostedModule::verify() const {
  std::string Errors;
  raw_string_ostream OS(Errors);
  if (!verifyModule(*M, &OS))
    return "";
  return StringRef(OS.str()).rtrim().str();
}

std::string HostedModule::assembly() const {
  std::string Text;
  raw_string_ostream OS(Text);
  M->print(OS, nullptr);
  return OS.str();
}

SmallVector<char, 0> HostedModule::bitcode() const {
  SmallVector<char, 0> Bytes;
  raw_svector_ostream OS(Bytes);
  WriteBitcodeToFile(*M, OS, /*ShouldPreserveUseListOrder=*/true);
  return Bytes;
}

} // namespace passpilot
