// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The entry point for MLIR's stock tools: `mlir-opt --load-pass-plugin=`.

#include "../llvm/compat.h"
#include "../loaded/firewall.h"
#include "../loaded/refusal.h"
#include "../runtime/text.h"

#include "inline_point.h"
#include "mlir_compilation.h"
#include "mlir_passes.h"
#include "version.h"

#include "mlir/Tools/Plugins/PassPlugin.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/WithColor.h"

#include <cstdio>
#include <cstdlib>
#include <link.h>

namespace passpilot {

namespace {

/// Whether the tool uses our MLIR library, which was then loaded before us. A
/// tool with another MLIR would ignore what we register.
bool sharesMLIR() {
  struct Order {
    int Next = 0, MLIR = 0, Ours = 0;
  } Loaded;
  dl_iterate_phdr(
      [](dl_phdr_info *Info, size_t, void *Data) {
        Order &L = *static_cast<Order *>(Data);
        const llvm::StringRef Name(Info->dlpi_name);
        ++L.Next;
        if (Name.contains("/libMLIR.so." PASSPILOT_LLVM_VERSION_TEXT))
          L.MLIR = L.Next;
        if (Name.contains("/libpasspilot_mlir.so"))
          L.Ours = L.Next;
        return 0;
      },
      &Loaded);
  return Loaded.MLIR < Loaded.Ours;
}

/// MLIR calls this: an exception ends the tool, as any other error.
void load(const std::string &Files) noexcept {
  Messages Report;
  bool Good = false;
  contained(Report, [&] { Good = registerUserPasses(Files, Report); });
  if (!Good)
    refuse(Report.back().Text);
}

/// Registers the Python passes that the option --pass-pipeline names, before
/// the tool parses it. After an error, the tool refuses the unknown name.
void find(const std::string &Pipeline) {
  Messages Report;
  contained(Report, [&] { (void)registerNamedPasses(Pipeline, Report); });
  for (const Message &M : Report)
    llvm::WithColor::error() << shown(M.Text) << "\n";
}

/// Calls \p See with the value of one of the tool's options.
void watch(llvm::StringRef Name, void (*See)(const std::string &)) {
  auto *O = optionOf<std::string>(Name);
  if (!O)
    return;
  if (O->getNumOccurrences())
    See(O->getValue());
  O->setCallback(See);
}

std::string Output; ///< the path that -o names

/// Adds an error to \p Report if the flags are wrong. Where a pass asks, its
/// compilation checks them.
void checkFlags(Messages &Report) {
  contained(Report, [&] {
    const auto Points = advisedPoints(Report);
    for (const Advised &A : Points.value_or(std::vector<Advised>()))
      if (A.Point != mlirInlinePoint().Name)
        if (const auto *Calls = python<MLIRCalls>(Report))
          Calls->CheckPoint(&Report, A.Point.c_str());
  });
}

/// Says at the end of the process that no pass has used the flags. Wrong flags
/// are an error: the tool does not keep the output that it has just written.
void judgeUnused() {
  if (!advises() || compilationBegun())
    return;
  Messages Report;
  checkFlags(Report);
  const auto Wrong = llvm::find_if(Report, std::mem_fn(&Message::isError));
  if (Wrong == Report.end()) {
    printWarning("the flags that begin with --passpilot advise nothing: the "
                 "pipeline has no pass that asks");
    return;
  }
  llvm::WithColor::error() << shown(Wrong->Text) << "\n";
  if (llvm::sys::fs::is_regular_file(Output))
    (void)llvm::sys::fs::remove(Output);
  llvm::outs().flush();
  std::fflush(nullptr);
  std::_Exit(1); // a second call of exit() is not allowed here
}

llvm::cl::list<std::string>
    Load("passpilot-load", llvm::cl::value_desc("FILE.py"),
         llvm::cl::desc("Register the passes, features, runners and decision "
                        "points in it"),
         llvm::cl::callback([](const std::string &File) { load(File); }));

} // namespace

} // namespace passpilot

extern "C" mlir::PassPluginLibraryInfo mlirGetPassPluginInfo() {
  using namespace passpilot;
  if (!sharesMLIR())
    refuse("passpilot: expected a tool with "
           "libMLIR.so." PASSPILOT_LLVM_VERSION_TEXT
           ", such as mlir-opt-" PASSPILOT_LLVM_MAJOR_TEXT ", got " +
           llvm::sys::fs::getMainExecutable(nullptr, nullptr));
  return {
      MLIR_PLUGIN_API_VERSION, "passpilot", PASSPILOT_LLVM_VERSION_TEXT, [] {
        registerAdvisedInline();
        watch("pass-pipeline", find);
        watch("o", [](const std::string &Path) { Output = Path; });
        std::atexit(judgeUnused);
        if (const char *Files = std::getenv("PASSPILOT_LOAD"); Files && *Files)
          load(Files);
      }};
}
