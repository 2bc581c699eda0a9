// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef PASSPILOT_MLIR_MLIR_CALLS_H
#define PASSPILOT_MLIR_MLIR_CALLS_H

#include "../loaded/python.h"

namespace passpilot {

/// The functions of passes/mlir/stock/door.py.
struct MLIRCalls : AdvisorCalls {
  /// Checks the options of a pass.
  void (*Check)(Messages *Teller, const char *Pass, const char *Options);
  /// Runs a pass on an operation's text. If \p Inside, the text is a module
  /// with the operation and the symbols it refers to. Reports the resulting
  /// text, unless it is unchanged.
  void (*Run)(Messages *Teller, const char *Operation, const char *Pass,
              const char *Options, const char *Text, bool Inside);
};

} // namespace passpilot

#endif
