// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A compiler on libLLVM whose decisions passpilot advises: it reads LLVM IR,
// runs a pipeline with its own PassBuilder, and writes an object file.
//
//   compile INPUT OUTPUT.o PIPELINE [NAME=VALUE...]
//   compile in.ll out.o 'default<O2>' inline=onnx:model.onnx log=decisions.log

#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"

#include <passpilot/llvm.h>

using namespace llvm;

/// Prints errors and warnings. LLVM sets HasErrors after an error.
struct Diagnostics : DiagnosticHandler {
  bool handleDiagnostics(const DiagnosticInfo &DI) override {
    if (DI.getSeverity() == DS_Error)
      WithColor::error(errs(), "compile");
    else if (DI.getSeverity() == DS_Warning)
      WithColor::warning(errs(), "compile");
    else
      return true;
    DiagnosticPrinterRawOStream Printer(errs());
    DI.print(Printer);
    errs() << "\n";
    return true;
  }
};

static Expected<std::unique_ptr<TargetMachine>> targetOf(const Module &M) {
  std::string Why;
  const Target *T = TargetRegistry::lookupTarget(M.getTargetTriple(), Why);
  if (!T)
    return createStringError(Why);
  return std::unique_ptr<TargetMachine>(T->createTargetMachine(
      M.getTargetTriple(), "", "", TargetOptions(), std::nullopt));
}

/// Returning destroys the managers; then the logs are complete and all errors
/// are known.
static Error optimize(Module &M, TargetMachine &TM, StringRef Pipeline,
                      const std::vector<std::string> &Options) {
  LoopAnalysisManager LAM;
  FunctionAnalysisManager FAM;
  CGSCCAnalysisManager CGAM;
  ModuleAnalysisManager MAM;
  PassBuilder PB(&TM);
  if (Error E = passpilot::registerAdvisors(PB, Options))
    return E;
  PB.registerModuleAnalyses(MAM);
  PB.registerCGSCCAnalyses(CGAM);
  PB.registerFunctionAnalyses(FAM);
  PB.registerLoopAnalyses(LAM);
  PB.crossRegisterProxies(LAM, FAM, CGAM, MAM);
  ModulePassManager MPM;
  if (Error E = PB.parsePassPipeline(MPM, Pipeline))
    return E;
  MPM.run(M, MAM);
  return Error::success();
}

static Error emit(Module &M, TargetMachine &TM, raw_pwrite_stream &OS) {
  legacy::PassManager PM;
  if (TM.addPassesToEmitFile(PM, OS, nullptr, CodeGenFileType::ObjectFile))
    return createStringError("the target writes no object files");
  PM.run(M);
  return Error::success();
}

static Error compile(LLVMContext &Context, Module &M, StringRef Output,
                     StringRef Pipeline,
                     const std::vector<std::string> &Options) {
  auto TM = targetOf(M);
  if (!TM)
    return TM.takeError();
  M.setDataLayout((*TM)->createDataLayout());
  if (Error E = optimize(M, **TM, Pipeline, Options))
    return E;
  SmallString<0> Object;
  raw_svector_ostream OS(Object);
  if (!Context.getDiagHandlerPtr()->HasErrors)
    if (Error E = emit(M, **TM, OS))
      return E;
  if (Context.getDiagHandlerPtr()->HasErrors)
    return Error::success(); // already printed
  return writeToOutput(Output, [&](raw_ostream &File) {
    File << Object;
    return Error::success();
  });
}

int main(int Count, char **Words) {
  if (Count < 4) {
    errs() << "compile INPUT OUTPUT.o PIPELINE [NAME=VALUE...]\n";
    return 1;
  }
  InitializeNativeTarget();
  InitializeNativeTargetAsmPrinter();
  LLVMContext Context;
  Context.setDiagnosticHandler(std::make_unique<Diagnostics>());
  SMDiagnostic Wrong;
  const auto M = parseIRFile(Words[1], Wrong, Context);
  if (!M) {
    Wrong.print("compile", errs());
    return 1;
  }
  if (Error E =
          compile(Context, *M, Words[2], Words[3], {Words + 4, Words + Count}))
    Context.emitError(toString(std::move(E)));
  return Context.getDiagHandlerPtr()->HasErrors;
}
