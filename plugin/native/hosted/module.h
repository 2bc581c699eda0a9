// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A module that Python owns, and what can be done with it: parse, print, run a
// pipeline, generate code. Each module has a context of its own, so modules on
// different threads have nothing in common but LLVM's command-line options.

#ifndef PASSPILOT_HOSTED_MODULE_H
#define PASSPILOT_HOSTED_MODULE_H

#include "../llvm/allocation_cost.h"
#include "../llvm/block_frequencies.h"
#include "compile_options.h"
#include "errors.h"
#include "handles.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace passpilot {

class PassAccess;
class Session;
/// Who is asked at the decision points, by name.
using Sessions = std::map<std::string, Session *>;
/// The one at the point of this name; null if nobody is asked there.
inline Session *sessionAt(const Sessions &Asked, const std::string &Point) {
  const auto Found = Asked.find(Point);
  return Found == Asked.end() ? nullptr : Found->second;
}
class UserPasses;

/// The managers of a module; see analyses.cpp.
class OwnAnalyses;
struct OwnAnalysesDeleter {
  void operator()(OwnAnalyses *A) const;
};

/// How much of a function has changed.
enum class Change { Instructions, ControlFlow };

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
                                    const Sessions &Asked, UserPasses *Passes,
                                    const PipelineOptions &O,
                                    const StopPoll &Poll);
  /// Generates code; each session advises its point, or is null. Lowers the
  /// module in place. Throws as optimize(). Once it is to stop, by \p Poll or a
  /// session, what it gives is empty.
  Emitted emit(const EmitOptions &O, const Sessions &Asked,
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

} // namespace passpilot

#endif
