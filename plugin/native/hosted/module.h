// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A module that Python owns and can parse, print, optimize and emit. Each
// module has its own context, so modules on different threads share nothing but
// LLVM's command-line options.

#pragma once

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
/// The sessions that are asked, by decision point.
using Sessions = std::map<std::string, Session *>;
/// The session at \p Point; null if there is none.
inline Session *sessionAt(const Sessions &Asked, const std::string &Point) {
  const auto Found = Asked.find(Point);
  return Found == Asked.end() ? nullptr : Found->second;
}
class UserPasses;

/// The module's separate analysis managers; see analyses.cpp.
class OwnAnalyses;
struct OwnAnalysesDeleter {
  void operator()(OwnAnalyses *A) const;
};

/// Which part of a function has changed.
enum class Change { Instructions, ControlFlow };

/// The result of code generation: object or assembly, the .dwo, and the
/// requested measurements.
struct Emitted {
  llvm::SmallVector<char, 0> Code, SplitDwarf;
  std::vector<AllocationCost> Costs;
  std::vector<BlockFrequencies> Frequencies;
};

/// Called now and then while LLVM runs; returns true to stop.
using StopPoll = std::function<bool()>;

class HostedModule {
public:
  /// Reads a file ("-": standard input) or memory. Throws InputError.
  static std::unique_ptr<HostedModule> fromFile(const std::string &Path,
                                                const ParseOptions &O);
  static std::unique_ptr<HostedModule> fromMemory(llvm::StringRef Bytes,
                                                  const std::string &Name,
                                                  const ParseOptions &O);

  /// Wraps a module that a foreign compiler works on, on this thread. Call
  /// end() before the module is destroyed.
  static std::unique_ptr<HostedModule> borrowed(llvm::Module &M);
  /// Ends the borrowed module's compilation: makes all of it inaccessible.
  void end();
  bool ended() const { return !M; }
  ~HostedModule() { end(); }

  llvm::Module &module() { return *M; }
  /// The verifier's complaints; empty if the module is valid.
  std::string verify() const;
  std::string assembly() const;
  /// The bitcode that opt would write: with use-list order.
  llvm::SmallVector<char, 0> bitcode() const;

  /// Replaces the module by \p Bitcode of it, which another process has
  /// compiled. Clears all handles. Throws InputError.
  void replace(llvm::StringRef Bitcode);

  /// Runs \p Pipeline and returns warnings. \p Inline and \p Passes may be
  /// null. Throws InputError or CompilationError; a session or a pass of the
  /// user's that failed holds its failure.
  std::vector<std::string> optimize(const std::string &Pipeline,
                                    const Sessions &Asked, UserPasses *Passes,
                                    const PipelineOptions &O,
                                    const StopPoll &Poll);
  /// Generates code, lowering the module in place. Each session advises its
  /// point; it may be null. Throws as optimize() does. If \p Poll or a session
  /// stops it, the result is empty.
  Emitted emit(const EmitOptions &O, const Sessions &Asked,
               const StopPoll &Poll);

  /// The thread that is compiling the module, if any. The caller reads and
  /// writes it under its own lock.
  std::thread::id Worker;
  /// The pass that left the module invalid; LLVM must not run on it again.
  std::string Broken;
  /// Whether another thread is compiling the module; under the same lock.
  bool busy() const {
    return Worker != std::thread::id() && Worker != std::this_thread::get_id();
  }
  /// The innermost Python pass that is running on the module; may be null.
  PassAccess *Pass = nullptr;
  HandleTable &handles() { return Handles; }

  /// The module's separate managers, which running pipelines do not use.
  OwnAnalyses &analyses();
  /// Drops the managers when a compilation begins.
  void dropAnalyses();
  /// Drops their results: LLVM may change the IR from now on.
  void forgetAnalyses();
  /// Notes a change in the body of \p F and drops its analyses.
  void changed(llvm::Function &F, Change C = Change::Instructions);
  /// Notes that \p G, which has no uses, is about to be deleted.
  void erased(llvm::GlobalValue &G);
  /// Notes a change that users of \p G see: attributes or linkage.
  void changed(llvm::GlobalValue &G);

private:
  HostedModule();
  explicit HostedModule(llvm::Module &Borrowed) : M(&Borrowed), Own() {}
  void parse(std::unique_ptr<llvm::MemoryBuffer> Buffer, const ParseOptions &O);
  std::unique_ptr<llvm::TargetMachine> emitTarget(const EmitOptions &O);
  /// Throws the errors that LLVM has reported since the last call.
  void throwDiagnosed();

  std::unique_ptr<llvm::LLVMContext> Context; // before M: outlives it
  std::unique_ptr<llvm::Module> M;
  std::unique_ptr<OwnAnalyses, OwnAnalysesDeleter> Own;
  HandleTable Handles; // after M: releasing needs the values
  std::string Diagnosed;
  std::function<void()> OnQuery; ///< for DiagnosticHandler's remark queries
};

} // namespace passpilot
