// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The entry points for LLVM's stock tools: `opt -load-pass-plugin=`, `clang
// -fpass-plugin=`, `llc -load=`, `ld.lld --load-pass-plugin=`.

#include "../include/passpilot/llvm.h"
#include "../llvm/tool.h"
#include "../loaded/refusal.h"
#include "flags.h"
#include "host.h"
#include "llvm_calls.h"
#include "stages_reached.h"
#include "unit_options.h"

#include "../llvm/compat_plugin.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/CommandLine.h"

#include <cstdlib>
#include <mutex>

namespace passpilot {

static LLVMCalls ModuleCalls{};
const PythonModule LibraryModule = {"passpilot.passes.stock.llvm_door",
                                    &ModuleCalls};

__attribute__((visibility("default"))) llvm::Error
registerAdvisors(llvm::PassBuilder &PB,
                 const std::vector<std::string> &Options) {
  auto Set = setOptions(Options);
  if (!Set)
    return Set.takeError();
  const SettingsInUse InUse(std::move(*Set));
  forgetUnit();
  return registerPipeline(PB);
}

namespace {

/// Calls \p Body while the tool loads us; an exception ends the tool.
void contain(llvm::function_ref<void()> Body) noexcept {
  Messages Told;
  if (!contained(Told, Body))
    refuse(Told.back().Text);
}

/// llc's -run-pass runs passes outside of any code generation, where they ask
/// nobody. Says so at the end of the process; LLVM forgets its options earlier.
void watchSinglePasses() {
  static const llvm::cl::Option *const Passes =
      llvm::cl::getRegisteredOptions().lookup("run-pass");
  static std::once_flag Once;
  if (Passes)
    std::call_once(Once, [] {
      std::atexit([] {
        if (Passes->getNumOccurrences())
          warnOfMissingCode();
      });
    });
}

/// Code generators call no function of a plugin, so this runs on loading.
struct OnLoad {
  OnLoad() {
    contain([] {
      checkTool(/*Strict=*/false);
      enterForeignTool(isLLVMTool());
      registerCodeGeneration();
      watchFlags(watchSinglePasses);
    });
  }
} Loading;

} // namespace

} // namespace passpilot

extern "C" __attribute__((visibility("default"))) llvm::PassPluginLibraryInfo
llvmGetPassPluginInfo() {
  passpilot::contain([] { passpilot::checkTool(/*Strict=*/true); });
  return {LLVM_PLUGIN_API_VERSION, "passpilot", LLVM_VERSION_STRING,
          [](llvm::PassBuilder &PB) {
            if (llvm::Error E = passpilot::registerPipeline(PB))
              passpilot::refusePipeline(PB, llvm::toString(std::move(E)));
          }};
}
