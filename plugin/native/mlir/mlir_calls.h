// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef PASSPILOT_MLIR_MLIR_CALLS_H
#define PASSPILOT_MLIR_MLIR_CALLS_H

#include "../loaded/python.h"

namespace passpilot {

/// The functions of passes/mlir/stock/door.py.
struct MLIRCalls : AdvisorCalls {
  /// Checks the options of a pass.
  void (*Check)(Messages *Teller, const char *Pass, const char *Options);
  /// Runs a pass on the text of an operation, which may be \p Inside a module
  /// with what it refers to; tells the text that results, unless it is the
  /// same.
  void (*Run)(Messages *Teller, const char *Operation, const char *Pass,
              const char *Options, const char *Text, bool Inside);
};

} // namespace passpilot

#endif
