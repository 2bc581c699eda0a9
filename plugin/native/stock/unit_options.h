// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The options of LLVM's that a policy and the decision file set, for the module
// that they are for and for no other one of the process.

#pragma once

#include "../llvm/option_gate.h"
#include "../loaded/option.h"
#include "../runtime/decision_file.h"
#include "llvm/IR/Module.h"

namespace passpilot {

/// Call this when a pipeline for \p M begins on this thread, which may generate
/// its code next: LLVM adds the passes before it says for which module.
void beginUnit(const llvm::Module &M);
/// Call this when the program sets other options of ours on this thread.
void forgetUnit();
/// The options of ours for code generation on this thread: those of the
/// pipeline that it has run, else the process's.
Option::Settings unitSettings();
/// Call this at the end of the pipeline with what is decided for \p M.
void decideUnit(const llvm::Module &M, const UnitDecisions *Unit);

/// The options for code generation from \p M.
OptionTexts optionsOf(const llvm::Module &M);

/// Call this when this thread begins to add the passes of a code generation.
/// Returns the options that hold from now on: those of the module that the
/// thread has optimized, or of any for \p Triple. They hold until the thread
/// makes a UnitHold.
OptionTexts beginPassConfig(const std::string &Triple);

/// A hold that waits without the GIL.
class UnitHold {
public:
  UnitHold(OptionReader Reader, const OptionTexts &Options);
  ~UnitHold();
  const std::string &error() const { return Hold->error(); }

private:
  std::optional<OptionHold> Hold;
};

} // namespace passpilot
