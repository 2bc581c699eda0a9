// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A module that Python owns, and what can be done with it: parse, print, run a
// pipeline, generate code. Each module has a context of its own, so modules on
// different threads have nothing in common but LLVM's command-line options.

#ifndef PASSPILOT_HOSTED_MODULE_H
#define PASSPILOT_HOSTED_MODULE_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace passpilot {

class Session;

/// The input (module, pipeline text, option) cannot be used.
struct InputError : std::runtime_error {
  using runtime_error::runtime_error;
};
/// LLVM reported an error while it compiled.
struct CompilationError : std::runtime_error {
  using runtime_error::runtime_error;
};

struct ParseOptions {
  std::string Triple;     ///< overrides the module's; empty: the module's
  std::string DataLayout; ///< likewise
  bool Verify = true;
  bool StripDebug = false;
};

struct TargetOptions {
  std::string CPU, Features; ///< empty: as LLVM's -mcpu and -mattr say
};

struct PipelineOptions {
  TargetOptions Target;
  std::string AAPipeline = "default";
  bool Verify = true, VerifyEach = false, DebugPassManager = false;
  std::vector<std::string> PassPlugins;
  std::string RemarksFile, RemarksFilter, RemarksFormat = "yaml";
  bool RemarksWithHotness = false;
};

struct EmitOptions {
  TargetOptions Target;
  bool Assembly = false;
  unsigned OptLevel = 2;
  std::string RelocationModel; ///< "static", "pic", ...; empty: the target's
};

/// Called now and then while LLVM runs; true: stop the compilation.
using StopPoll = std::function<bool()>;

class HostedModule {
public:
  /// From a file ("-": standard input) or from memory; throws InputError.
  static std::unique_ptr<HostedModule> fromFile(const std::string &Path,
                                                const ParseOptions &O);
  static std::unique_ptr<HostedModule> fromMemory(llvm::StringRef Bytes,
                                                  const std::string &Name,
                                                  const ParseOptions &O);

  llvm::Module &module() { return *M; }
  /// Verifier's complaints; empty if the module is sound.
  std::string verify() const;
  std::string assembly() const;
  /// As opt writes it: with use-list order.
  llvm::SmallVector<char, 0> bitcode() const;

  /// Runs \p Pipeline. \p Inline may be null. Returns warnings. Throws
  /// InputError or CompilationError; a session's failure is left in it.
  std::vector<std::string> optimize(const std::string &Pipeline,
                                    Session *Inline, const PipelineOptions &O,
                                    const StopPoll &Poll);
  /// Generates code; each session advises its point, or is null.
  llvm::SmallVector<char, 0> emit(const EmitOptions &O, Session *Evict,
                                  Session *Priority, const StopPoll &Poll);

  /// The thread that compiles the module now; none between compilations. The
  /// caller sets and reads it, under a lock of its own.
  std::thread::id Worker;

private:
  HostedModule();
  void parse(std::unique_ptr<llvm::MemoryBuffer> Buffer, const ParseOptions &O);
  std::unique_ptr<llvm::TargetMachine>
  target(const TargetOptions &O, llvm::CodeGenOptLevel Level,
         std::optional<llvm::Reloc::Model> Relocation, std::string &Error);
  /// Throws the errors that LLVM reported through the context since the last
  /// call.
  void throwDiagnosed();

  std::unique_ptr<llvm::LLVMContext> Context; // before M: outlives it
  std::unique_ptr<llvm::Module> M;
  std::string Diagnosed;
};

/// Registers targets and passes, and the handler of LLVM's fatal errors; once.
void initializeLLVM();

/// Parses LLVM's own options ("-inline-threshold=50"); process-wide. Throws
/// InputError.
void parseOptions(const std::vector<std::string> &Arguments);
/// Whether \p Name is an option of LLVM's, and whether its value may be the
/// next argument.
enum class OptionKind { Unknown, Flag, TakesValue };
OptionKind optionKind(const std::string &Name);
/// The report of -stats, if it is on.
std::string statistics();
/// Whether -print-pipeline-passes is set: opt then prints the pipeline and
/// stops.
bool printsPipeline();
std::string passNames();
std::string versionText();

} // namespace passpilot

#endif
