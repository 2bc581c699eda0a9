// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes in Python in the pipelines of a stock tool, by name and at LLVM's
// extension points.

#pragma once

#include "../llvm/user_pass.h"
#include "../loaded/message.h"
#include "flags.h"
#include "llvm/ADT/StringSet.h"

namespace passpilot {

/// What the passes are for: the tool's pipelines, or the beginning of a code
/// generation.
enum class PassStage { Pipeline, CodeGeneration };

/// The passes in Python that one pass builder's pipelines may name.
class StockPasses {
public:
  StockPasses() = default;
  StockPasses(const StockPasses &) = delete;
  ~StockPasses();

  /// Loads the user's files first. The builder, pass managers and
  /// instrumentation that refer to the result own it, too.
  static llvm::Expected<std::shared_ptr<StockPasses>>
  registerWith(llvm::PassBuilder &PB, PassStage Stage = PassStage::Pipeline);

  /// As PB.parsePassPipeline().
  llvm::Error parse(llvm::PassBuilder &PB, llvm::ModulePassManager &PM,
                    llvm::StringRef Text) {
    return Passes.parse(PB, PM, Text);
  }

  /// Begins the compilation of \p M; errors are reported to its context.
  void begin(llvm::Module &M);
  void end(bool Good, Messages &Report);
  const std::shared_ptr<ProfileGate> &gate() const { return Passes.gate(); }
  bool failed() const { return Passes.failure().has_value(); }

private:
  UserPasses Passes;
  llvm::PassInstrumentationCallbacks Watch; ///< for builders without callbacks
  llvm::Module *M = nullptr;
  PassStage Stage = PassStage::Pipeline;
  std::shared_ptr<const bool> Profile; ///< whether it is taken up; may be null
  bool Used = false;                   ///< a pass in Python was found
  bool Sought = false;                 ///< Python keeps something at address()
  std::string DecisionsWarning; ///< what does not fit in the decision file
  llvm::StringSet<> Refused;    ///< elements whose error was reported

  void find(llvm::StringRef Element);
  /// The pairs whose points are asked at this stage.
  PointRunners atStage(PointRunners Pairs) const;
  size_t address() { return reinterpret_cast<size_t>(&Passes); }
};

} // namespace passpilot
