// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A compiler on libMLIR that loads the plugin and goes on after an error.
//
//   mlir_host PLUGIN INPUT PIPELINE FLAG...
//
// It prints the errors of each of two compilations, and ends with exit code 7.

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/Extensions/AllExtensions.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

#include <vector>

using namespace mlir;

static void compile(const char *Input, const char *Pipeline) {
  DialectRegistry Registry;
  Registry.insert<arith::ArithDialect, func::FuncDialect>();
  func::registerAllExtensions(Registry);
  MLIRContext Context(Registry);
  unsigned Errors = 0;
  Context.getDiagEngine().registerHandler([&](Diagnostic &D) {
    Errors += D.getSeverity() == DiagnosticSeverity::Error;
    llvm::outs() << D.str() << "\n";
    return success();
  });
  auto Module = parseSourceFile<ModuleOp>(Input, &Context);
  {
    PassManager Passes(&Context);
    if (failed(parsePassPipeline(Pipeline, Passes)) ||
        failed(Passes.run(*Module)))
      llvm::outs() << "the pipeline has failed\n";
  }
  llvm::outs() << Errors << " errors\n";
}

int main(int Count, char **Words) {
  auto Plugin = PassPlugin::load(Words[1]);
  if (!Plugin)
    return 1;
  registerCanonicalizerPass();
  Plugin->registerPassRegistryCallbacks();
  std::vector<const char *> Flags = {Words[0]};
  Flags.insert(Flags.end(), Words + 4, Words + Count);
  llvm::cl::ParseCommandLineOptions(static_cast<int>(Flags.size()),
                                    Flags.data());
  compile(Words[2], Words[3]);
  compile(Words[2], Words[3]);
  return 7;
}
