// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A compiler of several modules.
//
//   cpp_host again|threads|kept|staged|flat FOLDER PIPELINE INPUT... --
//   NAME=VALUE...
//
// again: one pass builder and one set of managers for all modules, each of
// which is gone before the next. threads: three threads with all that they need
// compile all modules. kept: modules are gone before the managers, and code
// generators live as long as the context. staged: all pass builders are
// registered, % in options being the module's number, then all pipelines are
// parsed and the builders destroyed, then the pipelines run, then code is
// generated from all modules, on threads of their own. flat: optimizes all
// modules 1100 times, each with all that it needs, and prints by how many bytes
// the heap has grown since the hundredth time. Objects are
// FOLDER/THREAD-INDEX.o.

#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"

#include <passpilot/llvm.h>

#include <atomic>
#include <cstring>
#include <malloc.h>
#include <thread>

using namespace llvm;

namespace {

std::string Folder, Pipeline;
std::vector<std::string> Inputs, Options;
std::atomic<bool> Failed = false;

void fail(const Twine &Text) {
  errs() << (Text + "\n").str();
  Failed = true;
}

struct Diagnostics : DiagnosticHandler {
  bool handleDiagnostics(const DiagnosticInfo &DI) override {
    std::string Text;
    raw_string_ostream OS(Text);
    DiagnosticPrinterRawOStream Printer(OS);
    DI.print(Printer);
    if (DI.getSeverity() == DS_Error)
      fail("error: " + Text);
    else if (DI.getSeverity() == DS_Warning)
      std::fprintf(stderr, "warning: %s\n", Text.c_str());
    return true;
  }
};

/// Destroys a pass builder so that using it later fails at once.
struct Scrub {
  void operator()(PassBuilder *PB) const {
    PB->~PassBuilder();
    std::memset(static_cast<void *>(PB), 0xdd, sizeof *PB);
    ::operator delete(PB);
  }
};

/// What compiles modules, one after the other.
struct Compiler {
  std::unique_ptr<TargetMachine> TM;
  std::unique_ptr<LoopAnalysisManager> LAM =
      std::make_unique<LoopAnalysisManager>();
  std::unique_ptr<FunctionAnalysisManager> FAM =
      std::make_unique<FunctionAnalysisManager>();
  std::unique_ptr<CGSCCAnalysisManager> CGAM =
      std::make_unique<CGSCCAnalysisManager>();
  std::unique_ptr<ModuleAnalysisManager> MAM =
      std::make_unique<ModuleAnalysisManager>();
  std::unique_ptr<PassBuilder, Scrub> PB;
  ModulePassManager MPM;

  explicit Compiler(const Triple &T, size_t Number = 0) {
    std::string Why;
    TM.reset(TargetRegistry::lookupTarget(T, Why)->createTargetMachine(
        T, "", "", TargetOptions(), std::nullopt));
    PB.reset(new PassBuilder(TM.get()));
    std::vector<std::string> Mine;
    for (const std::string &Text : Options) {
      const auto [Before, After] = StringRef(Text).split('%');
      Mine.push_back(Text.size() == Before.size()
                         ? Text
                         : (Before + Twine(Number) + After).str());
    }
    if (Error E = passpilot::registerAdvisors(*PB, Mine))
      fail("error: " + toString(std::move(E)));
    PB->registerModuleAnalyses(*MAM);
    PB->registerCGSCCAnalyses(*CGAM);
    PB->registerFunctionAnalyses(*FAM);
    PB->registerLoopAnalyses(*LAM);
    PB->crossRegisterProxies(*LAM, *FAM, *CGAM, *MAM);
  }

  /// LLVM's pipelines with an inliner run once: it takes them apart.
  void optimize(Module &M) {
    parse();
    MPM.run(M, *MAM);
  }

  void parse() {
    MPM = ModulePassManager();
    if (Error E = PB->parsePassPipeline(MPM, Pipeline))
      fail("error: " + toString(std::move(E)));
  }

  void forget() {
    MAM->clear();
    CGAM->clear();
    FAM->clear();
    LAM->clear();
  }

  std::unique_ptr<legacy::PassManager> emit(Module &M, const Twine &Name) {
    std::error_code Ignored;
    raw_fd_ostream OS((Folder + "/" + Name + ".o").str(), Ignored);
    auto PM = std::make_unique<legacy::PassManager>();
    TM->addPassesToEmitFile(*PM, OS, nullptr, CodeGenFileType::ObjectFile);
    PM->run(M);
    return PM;
  }
};

std::unique_ptr<Module> read(LLVMContext &C, const std::string &Path) {
  SMDiagnostic Wrong;
  auto M = parseIRFile(Path, Wrong, C);
  if (!M)
    fail("error: " + Wrong.getMessage());
  return M;
}

std::unique_ptr<LLVMContext> context() {
  auto C = std::make_unique<LLVMContext>();
  C->setDiagnosticHandler(std::make_unique<Diagnostics>());
  return C;
}

void again() {
  std::unique_ptr<Compiler> All;
  for (size_t I = 0; I < Inputs.size(); ++I) {
    const auto C = context();
    const auto M = read(*C, Inputs[I]);
    if (!All)
      All = std::make_unique<Compiler>(M->getTargetTriple());
    M->setDataLayout(All->TM->createDataLayout());
    All->optimize(*M);
    All->forget();
    All->emit(*M, "0-" + Twine(I));
  }
}

void thread(int Number) {
  for (size_t I = 0; I < Inputs.size(); ++I) {
    const auto C = context();
    const auto M = read(*C, Inputs[I]);
    Compiler One(M->getTargetTriple());
    M->setDataLayout(One.TM->createDataLayout());
    One.optimize(*M);
    One.emit(*M, Twine(Number) + "-" + Twine(I));
  }
}

void threads() {
  std::vector<std::thread> All;
  for (int Number = 0; Number < 3; ++Number)
    All.emplace_back(thread, Number);
  for (std::thread &T : All)
    T.join();
}

void kept() {
  const auto C = context();
  std::vector<std::unique_ptr<Compiler>> Compilers;
  std::vector<std::unique_ptr<legacy::PassManager>> Emitters;
  for (size_t I = 0; I < Inputs.size(); ++I) {
    const auto M = read(*C, Inputs[I]);
    Compilers.push_back(std::make_unique<Compiler>(M->getTargetTriple()));
    M->setDataLayout(Compilers.back()->TM->createDataLayout());
    Compilers.back()->optimize(*M);
    Emitters.push_back(Compilers.back()->emit(*M, "0-" + Twine(I)));
  }
  Emitters.clear();
}

void staged() {
  std::vector<std::unique_ptr<LLVMContext>> Contexts;
  std::vector<std::unique_ptr<Module>> Modules;
  std::vector<std::unique_ptr<Compiler>> Compilers;
  for (size_t I = 0; I < Inputs.size(); ++I) {
    Contexts.push_back(context());
    Modules.push_back(read(*Contexts[I], Inputs[I]));
    Compilers.push_back(
        std::make_unique<Compiler>(Modules[I]->getTargetTriple(), I));
    Modules[I]->setDataLayout(Compilers[I]->TM->createDataLayout());
  }
  for (const auto &C : Compilers) {
    C->parse();
    C->PB.reset();
  }
  for (size_t I = 0; I < Inputs.size(); ++I)
    Compilers[I]->MPM.run(*Modules[I], *Compilers[I]->MAM);
  std::vector<std::thread> All;
  for (size_t I = 0; I < Inputs.size(); ++I)
    All.emplace_back(
        [&, I] { Compilers[I]->emit(*Modules[I], "0-" + Twine(I)); });
  for (std::thread &T : All)
    T.join();
  Compilers.clear();
  Modules.clear();
}

void flat() {
  size_t Before = 0;
  for (int Time = 0; Time < 1100; ++Time) {
    for (const std::string &Input : Inputs) {
      const auto C = context();
      const auto M = read(*C, Input);
      Compiler(M->getTargetTriple()).optimize(*M);
    }
    if (Time == 99)
      Before = mallinfo2().uordblks;
  }
  outs() << static_cast<ptrdiff_t>(mallinfo2().uordblks - Before) << "\n";
}

} // namespace

int main(int Count, char **Words) {
  InitializeNativeTarget();
  InitializeNativeTargetAsmPrinter();
  const std::string Mode = Words[1];
  Folder = Words[2];
  Pipeline = Words[3];
  auto *To = &Inputs;
  for (int I = 4; I < Count; ++I)
    if (std::string(Words[I]) == "--")
      To = &Options;
    else
      To->push_back(Words[I]);
  Mode == "again"     ? again()
  : Mode == "threads" ? threads()
  : Mode == "staged"  ? staged()
  : Mode == "flat"    ? flat()
                      : kept();
  return Failed;
}
