// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Profile-guided builds. LLVM applies a profile to code that is equal to what
// it has counted, so everything before a pass that counts, or that reads a
// profile, must be LLVM's own decision: otherwise a profile would fit only the
// runner that it was made with.

#pragma once

#include "llvm/IR/PassInstrumentation.h"
#include "llvm/Passes/PassBuilder.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace passpilot {

/// Open while a pipeline is behind all its passes about profiles; advice needs
/// an open gate. It is always open in pipelines without such passes.
class ProfileGate : public std::enable_shared_from_this<ProfileGate> {
public:
  /// Watches the pipelines that \p PB builds, and the passes that \p Text
  /// names. The builder and its instrumentation own the gate, too.
  void registerWith(llvm::PassBuilder &PB, llvm::StringRef Text);
  /// The pipeline begins on another module.
  void begin();

  /// Whether the builder's pipelines may have passes about profiles.
  bool watches() const { return Watches; }
  bool open() const { return Passed >= Awaited; }
  /// Calls \p Work now or as soon as the gate opens.
  void whenOpen(std::function<void()> Work);
  /// Whether the pipeline has passes about profiles.
  bool counts() const { return Awaited > 0; }
  /// Whether the linker's pipeline has more of them, so that it advises.
  bool leaves() const { return Awaited >= OfTheLinker; }
  /// Why nothing is advised that ends in front of the gate.
  static constexpr const char *Closed =
      "the code is counted for a profile, or takes counts from one, behind it; "
      "LLVM alone decides what comes before";

private:
  /// More passes than any pipeline has: the linker's reads the profile.
  static constexpr unsigned OfTheLinker = 1U << 16;

  bool Watches = false;
  unsigned Awaited = 0, Passed = 0; ///< passes about profiles
  std::vector<std::function<void()>> Waiting;

  static unsigned passesOf(const llvm::PGOOptions &O, bool InContext,
                           llvm::ThinOrFullLTOPhase Phase);
  void watch(llvm::PassInstrumentationCallbacks &PIC);
};

/// Runs a pipeline only behind an open gate. A pipeline of modules waits for
/// it; others stand at points that LLVM reaches again.
template <typename PassManagerT> class GatedPass {
public:
  GatedPass(PassManagerT Inner, std::shared_ptr<ProfileGate> Gate, bool *Held)
      : Inner(std::make_shared<PassManagerT>(std::move(Inner))),
        Gate(std::move(Gate)), Held(Held) {}

  template <typename UnitT, typename ManagerT, typename... ExtraT>
  llvm::PreservedAnalyses run(UnitT &Unit, ManagerT &AM, ExtraT &&...Extra) {
    if (Held)
      *Held = !Gate->open();
    if (Gate->open())
      return Inner->run(Unit, AM, Extra...);
    if constexpr (std::is_same_v<UnitT, llvm::Module>)
      Gate->whenOpen([*this, &Unit, &AM]() mutable {
        AM.invalidate(Unit, run(Unit, AM));
      });
    return llvm::PreservedAnalyses::all();
  }
  void printPipeline(llvm::raw_ostream &OS,
                     llvm::function_ref<llvm::StringRef(llvm::StringRef)> Map) {
    Inner->printPipeline(OS, Map);
  }
  static llvm::StringRef name() { return "ProfileGatePassManager"; }
  static bool isRequired() { return true; }

private:
  std::shared_ptr<PassManagerT> Inner;
  std::shared_ptr<ProfileGate> Gate;
  bool *Held;
};

/// Adds \p Inner to \p PM, to run behind an open gate. \p Held: where to note
/// whether a closed gate has held it back so far; may be null.
template <typename PassManagerT>
void addGated(PassManagerT &PM, PassManagerT Inner,
              const std::shared_ptr<ProfileGate> &Gate, bool *Held = nullptr) {
  if (Gate->watches())
    PM.addPass(GatedPass<PassManagerT>(std::move(Inner), Gate, Held));
  else
    PM.addPass(std::move(Inner));
}

} // namespace passpilot
