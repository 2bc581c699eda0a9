// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Python in a compiler's process: the one whose packages this library is among.
// It is started when it is needed, and never ended.

#ifndef PASSPILOT_LOADED_PYTHON_H
#define PASSPILOT_LOADED_PYTHON_H

#include "message.h"

#include <cstddef>

namespace passpilot {

/// Functions of Python's, which each library extends by what it needs. They
/// tell what there is to tell to \p Teller, raise nothing, and take the GIL
/// themselves.
struct PythonCalls {
  /// The process ends.
  void (*End)(Messages *Teller);
};

/// Those of passes/stock/advisors.py.
struct AdvisorCalls : PythonCalls {
  /// Runs the files, separated by colons; tells the passes that they register.
  void (*Load)(Messages *Teller, const char *Files);
  /// The session of a new advisor, 0 after an error.
  size_t (*Start)(Messages *Teller, const char *Point, const char *Runner,
                  const char *Log, const char *OnError, double Timeout,
                  double Limit);
  /// The compilation has ended. The session lives on.
  void (*Finish)(Messages *Teller, size_t Session, bool Good);
  /// Nobody refers to the session any more.
  void (*Drop)(Messages *Teller, size_t Session);
};

/// What a library has for Python: the module that fills the functions in.
struct PythonModule {
  const char *Name;
  PythonCalls *Calls;
};
/// Defined by each library.
extern const PythonModule TheModule;

/// Starts the interpreter, once. Null, with an error told, if that fails.
const PythonCalls *startedPython(Messages &Told);
/// Likewise; \p Calls are those of the library's module.
template <typename Calls> const Calls *python(Messages &Told) {
  return static_cast<const Calls *>(startedPython(Told));
}
/// Whether it has been started.
bool pythonRuns();

/// The folder of this library.
std::string pluginFolder();
/// onnxruntime's library among the packages; empty if there is none.
std::string onnxLibrary();

} // namespace passpilot

#endif
