// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Coordinates Python's accesses to a module with its compilations.

#pragma once

#include "../hosted/module.h"
#include "py_advisor.h"

#include <chrono>

namespace passpilot {

/// Returns the module; raises InputError if another thread is compiling it.
HostedModule &readable(HostedModule &H);
/// Throws InputError if a pass has left \p H invalid.
void refuseBroken(HostedModule &H);

/// Reserves \p H for this thread until release(). Throws InputError if it is
/// reserved already.
void reserve(HostedModule &H);
void release(HostedModule &H);

/// Polls for Ctrl-C every 20 ms while LLVM runs without the GIL. check() raises
/// the signal handler's exception after LLVM has returned.
class SignalPoll {
public:
  bool operator()();
  /// Raises the handler's exception; throws when the interpreter ends.
  void check();

private:
  std::chrono::steady_clock::time_point Next = std::chrono::steady_clock::now();
  std::optional<nb::python_error> Raised;
};

/// Reserves the module and the advisors for one compilation. The GIL serves as
/// the lock: it is held here, and released during the compilation.
class Compiling {
public:
  Compiling(HostedModule &H, const std::vector<PyAdvisor *> &All);
  ~Compiling() { end(); }
  Compiling(const Compiling &) = delete;

private:
  HostedModule &H;
  std::vector<PyAdvisor *> Advisors;

  void end();
};

} // namespace passpilot
