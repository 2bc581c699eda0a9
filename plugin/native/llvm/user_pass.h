// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes whose bodies live elsewhere, in LLVM's pipelines: each under a name of
// its own, so that -print-after, -time-passes, opt-bisect and optnone know it.
//
// The body is called with one unit of IR. What LLVM expects of a pass beyond
// that is seen to here: nothing runs after a failure, what changed is verified,
// and the call graph and the forms of loops are kept.

#ifndef PASSPILOT_LLVM_USER_PASS_H
#define PASSPILOT_LLVM_USER_PASS_H

#include "pass_unit.h"
#include "llvm/IR/PassInstrumentation.h"
#include "llvm/Passes/PassBuilder.h"

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace passpilot {

/// What a body did: nothing, if all analyses are preserved.
struct PassResult {
  llvm::PreservedAnalyses Preserved = llvm::PreservedAnalyses::all();
  std::optional<std::string> Failure; ///< what went wrong, if anything did
};

/// A pass as an element of pipeline text names it.
struct UserPass {
  std::string Text; ///< the element: "my-pass{limit=3}"
  std::string Name; ///< what LLVM calls it: "my-pass"
  PassLevel Level;
  bool Required; ///< runs also where optnone or opt-bisect skip others
  /// Does not throw.
  std::function<PassResult(const PassUnit &)> Run;
};

struct PassFailure {
  std::string Pass, Unit, Text;
  bool BrokenIR = false; ///< the module is not valid any more
};

/// A pipeline text at an extension point.
struct PlacedPipeline {
  std::string Point, Text;
  bool Reached = false; ///< by the pipeline that was built
  bool Parsing = false; ///< at present: it is not to hold itself
};

/// The passes of the user's in one compilation. Outlives its pipeline.
/// Threads: used by the compiling thread only.
class UserPasses {
public:
  void add(UserPass P) { Passes.push_back(std::move(P)); }
  bool empty() const { return Passes.empty(); }
  /// Whether what is parsed now is run by the body of a pass.
  bool nested() const { return Nested; }
  bool Verify = true;      ///< the IR after each pass of ours that changed it
  bool VerifyEach = false; ///< the IR after each pass, LLVM's too
  bool Debug = false;      ///< print what -debug-pass-manager is about
  /// Whether the compilation is to end; empty: it is not.
  std::function<bool()> Stopped;
  /// Where LLVM itself parses: adds the pass that an element of the text names,
  /// if there is one.
  std::function<void(llvm::StringRef Element)> Resolve;
  /// Called at once when a pass has failed.
  std::function<void()> OnFailure;
  /// The element that the text being parsed starts with, where LLVM parses it.
  std::string First;

  /// Lets \p PB parse the passes and note its managers. Call it before the
  /// analyses are registered with them.
  void registerWith(llvm::PassBuilder &PB);
  /// As PB.parsePassPipeline().
  template <typename PassManagerT>
  llvm::Error parse(llvm::PassBuilder &PB, PassManagerT &PM,
                    llvm::StringRef Text);
  /// Adds the pipeline \p Text at LLVM's extension point \p Point of \p PB.
  llvm::Error at(llvm::PassBuilder &PB, const std::string &Point,
                 const std::string &Text);
  /// The points given to at() that no pipeline has reached.
  std::vector<std::string> unreached() const;

  /// Runs \p P on \p Unit unless the compilation has failed.
  llvm::PreservedAnalyses run(const UserPass &P, PassUnit Unit);
  /// Called by the body of a pass on \p Unit: runs the pipeline \p Text of
  /// LLVM's passes on \p F or, if that is null, on the module, whose pass it
  /// then is. \p Changed: the body has itself changed the IR before. Returns
  /// whether a pass has changed the IR.
  llvm::Expected<bool> runText(const PassUnit &Unit, llvm::Function *F,
                               llvm::StringRef Text, bool Changed);

  const std::optional<PassFailure> &failure() const { return Failure; }
  /// The pipeline goes on to another module.
  void forgetFailure() { Failure.reset(); }
  /// Makes ready for another compilation.
  void restart();

private:
  std::deque<UserPass> Passes; // passes in a pipeline refer to them
  std::deque<PlacedPipeline> PlacedAt;
  AnalysisManagers Managers;
  llvm::PassBuilder *Builder = nullptr;
  bool Nested = false; ///< a body runs a pipeline: of LLVM's passes only
  bool Watching = false;
  std::vector<bool> Running; ///< the passes at work: is it one of an SCC?
  std::optional<PassFailure> Failure;

  template <typename PassManagerT> void registerParser(llvm::PassBuilder &PB);
  template <typename PassManagerT>
  void append(PassManagerT &PM, const UserPass &P);
  llvm::Error explained(llvm::Error E) const;
  llvm::Error checkRun(const PassUnit &Unit, llvm::Function *F,
                       bool Changed) const;
  void resolve(llvm::StringRef Element);
  void addAll(llvm::PassInstrumentationCallbacks &PIC);
  void watch(llvm::PassInstrumentationCallbacks &PIC);
  void verifyAfter(llvm::StringRef Pass, const PassUnit &Unit);
  llvm::LazyCallGraph *walked(llvm::Module &M) const;
};

/// The names of LLVM's extension points, each with the level of its passes.
std::vector<std::pair<std::string, PassLevel>> extensionPoints();

} // namespace passpilot

#endif
