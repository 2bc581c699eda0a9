// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CPython in the compiler's process: the one whose packages this plugin is
// among. It is started when it is needed, and never ended.

#ifndef PASSPILOT_MLIR_PYTHON_H
#define PASSPILOT_MLIR_PYTHON_H

#include "message.h"

#include <cstddef>

namespace passpilot {

/// The functions of passes/mlir_loaded.py. They tell what there is to tell of
/// it to \p Teller, raise nothing, and take the GIL themselves.
struct PythonCalls {
  /// Runs the files, separated by colons; tells the passes there are.
  void (*Load)(Messages *Teller, const char *Files);
  /// The session of a new advisor, 0 after an error.
  size_t (*Start)(Messages *Teller, const char *Runner, const char *Log,
                  const char *OnError, double Timeout);
  void (*Finish)(Messages *Teller, size_t Session, bool Good);
  /// Checks the options of a pass.
  void (*Check)(Messages *Teller, const char *Pass, const char *Options);
  /// Runs a pass on the text of an operation, which may be \p Inside a module
  /// with what it refers to; tells the text that results, unless it is the
  /// same.
  void (*Run)(Messages *Teller, const char *Operation, const char *Pass,
              const char *Options, const char *Text, bool Inside);
  /// The process ends.
  void (*End)(Messages *Teller);
};

/// Starts the interpreter, once. Null, with an error told, if that fails.
const PythonCalls *python(Messages &Told);
/// Whether it has been started.
bool pythonRuns();

/// The folder of this plugin.
std::string pluginFolder();

} // namespace passpilot

#endif
