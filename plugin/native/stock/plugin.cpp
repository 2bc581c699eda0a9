// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What LLVM's stock tools load: `opt -load-pass-plugin=`, `clang
// -fpass-plugin=`, `llc -load=`, `ld.lld --load-pass-plugin=`.

#include "../include/passpilot/llvm.h"
#include "../llvm/tool.h"
#include "allocation.h"
#include "flags.h"
#include "host.h"
#include "llvm_calls.h"
#include "pipeline.h"

#include "llvm/Config/llvm-config.h"
#include "llvm/Plugins/PassPlugin.h"

namespace passpilot {

static LLVMCalls TheCalls{};
const PythonModule TheModule = {"passpilot.passes.stock.llvm_door", &TheCalls};

__attribute__((visibility("default"))) llvm::Error
registerAdvisors(llvm::PassBuilder &PB,
                 const std::vector<std::string> &Options) {
  if (llvm::Error E = setOptions(Options))
    return E;
  return registerPipeline(PB);
}

namespace {

/// Code generators have no function of ours to call.
struct OnLoad {
  OnLoad() {
    checkTool(/*Strict=*/false);
    enterForeignTool();
    registerAllocation();
  }
} Loading;

} // namespace

} // namespace passpilot

extern "C" __attribute__((visibility("default"))) llvm::PassPluginLibraryInfo
llvmGetPassPluginInfo() {
  passpilot::checkTool(/*Strict=*/true);
  return {LLVM_PLUGIN_API_VERSION, "passpilot", LLVM_VERSION_STRING,
          [](llvm::PassBuilder &PB) {
            if (llvm::Error E = passpilot::registerPipeline(PB))
              passpilot::refusePipeline(PB, llvm::toString(std::move(E)));
          }};
}
