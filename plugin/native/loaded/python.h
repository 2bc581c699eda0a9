// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Python in a compiler's process, from the environment that this library is
// installed in. It starts when it is needed and is never finalized.

#pragma once

#include "message.h"

#include <cstddef>

namespace passpilot {

/// Callbacks that Python fills in; each library derives its own set.
/// They report to \p Teller, raise nothing, and take the GIL
/// themselves.
struct PythonCalls {
  /// Called when the process ends.
  void (*End)(Messages *Teller);
};

/// The functions of passes/stock/advisors.py.
struct AdvisorCalls : PythonCalls {
  /// Runs the files, separated by colons; reports the passes they register.
  void (*Load)(Messages *Teller, const char *Files);
  /// Returns the session of a new advisor, 0 after an error.
  size_t (*Start)(Messages *Teller, const char *Point, const char *Runner,
                  const char *Log, const char *OnError, double Timeout,
                  double Limit);
  /// Call this when the compilation has ended; the session stays alive.
  void (*Finish)(Messages *Teller, size_t Session, bool Good);
  /// Call this when nothing refers to the session any more.
  void (*Drop)(Messages *Teller, size_t Session);
  /// Reports the record of a policy as a message of the kind "policy".
  void (*Prepare)(Messages *Teller, const char *Policy);
};

/// A library's Python module, and the functions that the module fills in.
struct PythonModule {
  const char *Name;
  PythonCalls *Calls;
};
/// Each library defines its own.
extern const PythonModule LibraryModule;

/// Gives up the GIL while it lives, if this thread holds it. A thread must not
/// wait for a lock with the GIL: the lock's owner may be waiting for the GIL.
class GivenUpGIL {
public:
  GivenUpGIL();
  ~GivenUpGIL();
  GivenUpGIL(const GivenUpGIL &) = delete;

private:
  void *State = nullptr; ///< the thread's, if it held the GIL
};

/// Starts the interpreter once. Returns null after an error, added to \p
/// Report.
const PythonCalls *startedPython(Messages &Report);
/// As startedPython(); \p Calls is the type of the library's functions.
template <typename Calls> const Calls *python(Messages &Report) {
  return static_cast<const Calls *>(startedPython(Report));
}
/// Whether we have started Python in this process.
bool pythonRuns();

/// The folder of this library.
std::string pluginFolder();
/// The path of the installed onnxruntime's library; empty if there is none.
std::string onnxLibrary();

} // namespace passpilot
