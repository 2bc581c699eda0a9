// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The Python functions that the plugin for LLVM's tools calls.

#pragma once

#include "../loaded/python.h"

namespace passpilot {

/// The functions of passes/stock/llvm_door.py. \p Passes is the address of a
/// UserPasses.
struct LLVMCalls : AdvisorCalls {
  /// Adds the pass that a pipeline element names, if it is a pass in
  /// Python.
  void (*Find)(Messages *Teller, size_t Passes, const char *Element);
  /// Sets the runner at a decision point of the passes.
  void (*Advise)(Messages *Teller, size_t Passes, const char *Point,
                 const char *Runner, const char *Log, const char *OnError,
                 double Timeout);
  /// Reports why the passes have failed.
  void (*Explain)(Messages *Teller, size_t Passes);
  /// Call this when the compilation has ended.
  void (*EndPasses)(Messages *Teller, size_t Passes, bool Good, bool Stats);
  /// Call this before the passes are destroyed.
  void (*Forget)(Messages *Teller, size_t Passes);
};

} // namespace passpilot
