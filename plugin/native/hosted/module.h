// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A module that Python owns, and what can be done with it: parse, print, run a
// pipeline, generate code. Each module has a context of its own, so modules on
// different threads have nothing in common but LLVM's command-line options.

#ifndef PASSPILOT_HOSTED_MODULE_H
#define PASSPILOT_HOSTED_MODULE_H

#include "../llvm/allocation_cost.h"
#include "../llvm/block_frequencies.h"
#include "access.h"
#include "handles.h"
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
class UserPasses;

/// The input (module, pipeline text, option) cannot be used.
struct InputError : std::runtime_error {
  using runtime_error::runtime_error;
};
/// The IR cannot be changed in the way that is asked for.
struct IRError : std::runtime_error {
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
  bool DiscardNames = false; ///< of values that are not global
  bool ForCodeGen = false;   ///< as llc reads: with the target's data layout
};

struct TargetOptions {
  std::string CPU, Features; ///< empty: as LLVM's -mcpu and -mattr say
};

struct RemarkOptions {
  std::string File, Filter, Format = "yaml"; ///< no file: no remarks written
  bool WithHotness = false;
};

struct PipelineOptions {
  TargetOptions Target;
  RemarkOptions Remarks;
  std::string AAPipeline = "default";
  bool Verify = true, VerifyEach = false, DebugPassManager = false;
  std::vector<std::string> PassPlugins;
  /// Extension points of LLVM's, each with a pipeline text to run there.
  std::vector<std::pair<std::string, std::string>> At;
};

/// What llc has beside the options that LLVM itself parses.
struct EmitOptions {
  TargetOptions Target;
  RemarkOptions Remarks;
  llvm::CodeGenFileType FileType = llvm::CodeGenFileType::ObjectFile;
  unsigned OptLevel = 2;
  std::string RelocationModel; ///< "static", "pic", ...; empty: the target's
  bool Verify = true, SimplifyLibCalls = true;
  bool AsmVerbose = true, PreserveAsmComments = true, ShowEncoding = false;
  std::optional<bool> DwarfDirectory;
  std::optional<unsigned> AsmVariant;
  std::vector<std::string> IncludePaths, PrinterOptions;
  std::string BinutilsVersion;
  std::string OutputName;        ///< the object's, for CodeView
  std::string SplitDwarfFile;    ///< the .dwo's name, for the DWARF
  bool SplitDwarfOutput = false; ///< write the .dwo apart
  bool Costs = false;            ///< measure what register allocation costs
  bool Frequencies = false;      ///< tell how often each block runs
};

/// What code generation gives: the object or assembly, the .dwo, and what was
/// to be measured.
struct Emitted {
  llvm::SmallVector<char, 0> Code, SplitDwarf;
  std::vector<AllocationCost> Costs;
  std::vector<BlockFrequencies> Frequencies;
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

  /// One that somebody else's compiler works on, on this thread. Its end must
  /// come before the module's.
  static std::unique_ptr<HostedModule> borrowed(llvm::Module &M);
  /// The borrowed module's compilation is over: nothing of it can be looked at
  /// any more.
  void end();
  bool ended() const { return !M; }
  ~HostedModule() { end(); }

  llvm::Module &module() { return *M; }
  /// Verifier's complaints; empty if the module is sound.
  std::string verify() const;
  std::string assembly() const;
  /// As opt writes it: with use-list order.
  llvm::SmallVector<char, 0> bitcode() const;

  /// Runs \p Pipeline. \p Inline and \p Passes may be null. Returns warnings.
  /// Throws InputError or CompilationError; a failure of a session or a pass of
  /// the user's is left in it.
  std::vector<std::string> optimize(const std::string &Pipeline,
                                    Session *Inline, UserPasses *Passes,
                                    const PipelineOptions &O,
                                    const StopPoll &Poll);
  /// Generates code; each session advises its point, or is null. Lowers the
  /// module in place. Throws as optimize(). Once it is to stop, by \p Poll or a
  /// session, what it gives is empty.
  Emitted emit(const EmitOptions &O, Session *Evict, Session *Priority,
               const StopPoll &Poll);

  /// The thread that compiles the module now; none between compilations. The
  /// caller sets and reads it, under a lock of its own.
  std::thread::id Worker;
  /// The pass that left the module broken, so that LLVM cannot have it again.
  std::string Broken;
  /// Whether another thread compiles the module now; under the same lock.
  bool busy() const {
    return Worker != std::thread::id() && Worker != std::this_thread::get_id();
  }
  /// The pass in Python that runs on the module now; innermost.
  PassAccess *Pass = nullptr;
  HandleTable &handles() { return Handles; }

  /// The module's own managers, which the pipelines that run do not see.
  OwnAnalyses &analyses();
  /// Forgets the managers: a compilation begins.
  void dropAnalyses();
  /// Forgets what they know: LLVM may change the IR from now on.
  void forgetAnalyses();
  /// Notes a change in the body of \p F: its analyses are forgotten.
  void changed(llvm::Function &F, Change C = Change::Instructions);
  /// Notes that \p G, which has no uses, is about to be deleted.
  void erased(llvm::GlobalValue &G);
  /// Notes a change of what users of \p G see: its attributes or linkage.
  void changed(llvm::GlobalValue &G);

private:
  HostedModule();
  explicit HostedModule(llvm::Module &Borrowed) : M(&Borrowed), Own() {}
  void parse(std::unique_ptr<llvm::MemoryBuffer> Buffer, const ParseOptions &O);
  std::unique_ptr<llvm::TargetMachine> emitTarget(const EmitOptions &O);
  /// Throws the errors that LLVM reported through the context since the last
  /// call.
  void throwDiagnosed();

  std::unique_ptr<llvm::LLVMContext> Context; // before M: outlives it
  std::unique_ptr<llvm::Module> M;
  std::unique_ptr<OwnAnalyses, OwnAnalysesDeleter> Own;
  HandleTable Handles; // after M: LLVM must still be there to let them go
  std::string Diagnosed;
  std::function<void()> OnQuery; ///< see DiagnosticHandler's remark queries
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
/// Whether -mcpu=help or -mattr=help is set; LLVM has then printed the lists of
/// \p Triple's target. Throws InputError.
bool targetHelp(const std::string &Triple);
std::string versionText();

} // namespace passpilot

#endif
