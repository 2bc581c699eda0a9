// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs the user's passes in LLVM's pipelines. Every pass has a name of its own,
// so that -print-after, -time-passes, opt-bisect and optnone know it.
//
// A pass's body is called with one unit of IR. UserPasses does the rest: it
// runs nothing after a failure, verifies changes, and keeps the call graph and
// the form of loops up to date.

#pragma once

#include "pass_unit.h"
#include "profile_gate.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/IR/PassInstrumentation.h"
#include "llvm/IR/ValueHandle.h"
#include "llvm/Passes/PassBuilder.h"

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace passpilot {

/// The result of a body; it changed nothing if all analyses are preserved.
struct PassResult {
  llvm::PreservedAnalyses Preserved = llvm::PreservedAnalyses::all();
  std::optional<std::string> Failure; ///< the error, if any
};

/// A pass as a pipeline element names it.
struct UserPass {
  std::string Text; ///< the pipeline element: "my-pass{limit=3}"
  std::string Name; ///< the pass's name in LLVM: "my-pass"
  PassLevel Level;
  bool Required; ///< runs even if optnone or opt-bisect skip others
  /// Must not throw.
  std::function<PassResult(const PassUnit &)> Run;
  unsigned Runs = 0, Skipped = 0; ///< units; skipped because of optnone
};

struct PassFailure {
  std::string Pass, Unit, Text;
  bool BrokenIR = false; ///< the module is no longer valid
};

/// A pipeline text at an extension point.
struct PlacedPipeline {
  std::string Point, Text;
  bool Unreached = true; ///< no pipeline has the point
  bool Held = false;     ///< a gate has held it back so far
  bool Parsing = false;  ///< its text is being parsed, so must not nest
};

/// The user's passes in one compilation. Must outlive its pipeline.
/// Threads: used by the compiling thread only.
class UserPasses {
public:
  void add(UserPass P) { Passes.push_back(std::move(P)); }
  bool empty() const { return Passes.empty(); }
  /// Whether a pass body runs the pipeline that is being parsed.
  bool nested() const { return Nested; }
  bool Verify = true;      ///< verify the IR after each of our passes
  bool VerifyEach = false; ///< verify the IR after each pass, also LLVM's
  bool Debug = false;      ///< print what -debug-pass-manager prints
  /// Whether the compilation shall end; an empty function means no.
  std::function<bool()> Stopped;
  /// For text that LLVM parses: adds the pass that an element names, if it
  /// names one.
  std::function<void(llvm::StringRef Element)> Resolve;
  /// Called as soon as a pass has failed.
  std::function<void()> OnFailure;
  /// The first element of the text that LLVM is parsing.
  std::string First;
  /// What LLVM's builders, managers and instrumentation keep alive while they
  /// refer to this object; empty if the caller outlives them.
  std::weak_ptr<void> Owner;
  /// The owner's instrumentation, which must not own the owner.
  llvm::PassInstrumentationCallbacks *Own = nullptr;

  /// Lets \p PB parse the passes, and stores its managers. Call this before the
  /// analyses are registered with them; \p PB must stay where it is until they
  /// are and until its pipelines are parsed, not until these run. \p Text: the
  /// tool's pipeline.
  void registerWith(llvm::PassBuilder &PB, llvm::StringRef Text);
  /// What is in front of the pipeline's passes about profiles.
  const std::shared_ptr<ProfileGate> &gate() const { return Gate; }
  /// As PB.parsePassPipeline().
  template <typename PassManagerT>
  llvm::Error parse(llvm::PassBuilder &PB, PassManagerT &PM,
                    llvm::StringRef Text);
  /// As parse(), while a pipeline runs: the builder may be gone.
  template <typename PassManagerT>
  llvm::Error parseLate(PassManagerT &PM, llvm::StringRef Text) {
    return parse(*Parser, PM, Text);
  }
  /// Adds the pipeline \p Text at LLVM's extension point \p Point of \p PB.
  llvm::Error at(llvm::PassBuilder &PB, const std::string &Point,
                 const std::string &Text);
  /// The points given to at() that no pipeline reached.
  std::vector<std::string> unreached() const {
    return pointsWhere(&PlacedPipeline::Unreached);
  }
  /// The points that no pipeline reached behind the gate.
  std::vector<std::string> heldBack() const {
    return pointsWhere(&PlacedPipeline::Held);
  }

  /// Runs \p P on \p Unit unless the compilation has failed.
  llvm::PreservedAnalyses run(UserPass &P, PassUnit Unit);
  /// Called by the body of a pass on \p Unit: runs the pipeline \p Text of
  /// LLVM's passes on \p F or, in a module pass, on the module if \p F is null.
  /// \p Changed: the body itself has changed the IR before. Returns whether a
  /// pass has changed the IR.
  llvm::Expected<bool> runText(const PassUnit &Unit, llvm::Function *F,
                               llvm::StringRef Text, bool Changed);

  /// Lets LLVM skip its optional function pass \p Name on \p F, until
  /// forgetFailure(). Returns an error if \p Name is no such pass.
  llvm::Error skip(llvm::Function &F, llvm::StringRef Name);

  const std::optional<PassFailure> &failure() const { return Failure; }
  /// The warning about passes that LLVM has skipped on all functions because
  /// these are optnone, as clang's -O0 marks them; empty without such passes.
  std::string idle() const;
  /// Call this when the pipeline moves on to another module; it also forgets
  /// which passes have run and which are to be skipped.
  void forgetFailure();
  /// Prepares for another compilation.
  void restart();

private:
  std::deque<UserPass> Passes; // pipelines refer to its elements
  std::deque<PlacedPipeline> PlacedAt;
  std::shared_ptr<ProfileGate> Gate = std::make_shared<ProfileGate>();
  AnalysisManagers Managers;
  std::unique_ptr<llvm::PassBuilder> Parser; ///< outlives the builder
  llvm::PassInstrumentationCallbacks *Callbacks = nullptr;
  bool Nested = false; ///< a body is running a pipeline of LLVM's passes
  bool Watching = false;
  std::vector<bool> Running; ///< one entry per running pass: is it an SCC pass?
  std::optional<PassFailure> Failure;
  /// The passes to skip by function; the handle shows whether it still lives.
  llvm::DenseMap<const void *, std::pair<llvm::WeakVH, llvm::StringSet<>>>
      Skips;

  template <typename PassManagerT> void registerParser(llvm::PassBuilder &PB);
  template <typename PassManagerT> void append(PassManagerT &PM, UserPass &P);
  std::vector<std::string> pointsWhere(bool PlacedPipeline::*What) const;
  llvm::Error explained(llvm::Error E) const;
  llvm::Error checkRun(const PassUnit &Unit, llvm::Function *F,
                       bool Changed) const;
  void resolve(llvm::StringRef Element);
  void addAll(llvm::PassInstrumentationCallbacks &PIC);
  void watch(llvm::PassInstrumentationCallbacks &PIC);
  bool skips(llvm::StringRef Pass, const llvm::Any &IR) const;
  void verifyAfter(llvm::StringRef Pass, const PassUnit &Unit);
  llvm::LazyCallGraph *walked(llvm::Module &M) const;
};

/// The names of LLVM's extension points, each with the level of its passes.
std::vector<std::pair<std::string, PassLevel>> extensionPoints();

} // namespace passpilot
