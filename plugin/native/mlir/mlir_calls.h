// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#pragma once

#include "../loaded/python.h"

namespace passpilot {

/// The functions of passes/mlir/stock/door.py.
struct MLIRCalls : AdvisorCalls {
  /// Checks the options of a pass.
  void (*Check)(Messages *Teller, const char *Pass, const char *Options);
  /// Runs a pass on an operation's text. If \p Inside, the text is a module
  /// with the operation and the symbols it refers to. Reports the resulting
  /// text, unless it is unchanged. \p Compilation is a number; 0 if no runner
  /// advises passes in Python. \p Unregistered is true if the tool allows
  /// operations of unknown dialects.
  void (*Run)(Messages *Teller, size_t Compilation, const char *Operation,
              const char *Pass, const char *Options, const char *Text,
              bool Inside, bool Unregistered);
  /// Reports the passes in Python among \p Names, which spaces separate.
  void (*Find)(Messages *Teller, const char *Names);
  /// Sets the runner that advises the passes of a compilation at a decision
  /// point of theirs.
  void (*Advise)(Messages *Teller, size_t Compilation, const char *Point,
                 const char *Runner, const char *Log, const char *OnError,
                 double Timeout);
  /// Checks the name of a decision point.
  void (*CheckPoint)(Messages *Teller, const char *Point);
  /// Call this when the compilation has ended.
  void (*EndPasses)(Messages *Teller, size_t Compilation, bool Good,
                    bool Stats);
};

} // namespace passpilot
