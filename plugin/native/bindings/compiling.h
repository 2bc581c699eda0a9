// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A module that Python may look at, or that a compilation holds.

#ifndef PASSPILOT_BINDINGS_COMPILING_H
#define PASSPILOT_BINDINGS_COMPILING_H

#include "../hosted/module.h"
#include "py_advisor.h"

#include <chrono>

namespace passpilot {

/// The module; raises InputError while another thread compiles it.
HostedModule &readable(HostedModule &H);
/// Throws InputError if a pass has left \p H invalid.
void refuseBroken(HostedModule &H);

/// Looks for Ctrl-C every 20 ms while LLVM runs without the GIL. What the
/// signal's handler raised is raised by check(), after LLVM has returned.
class SignalPoll {
public:
  bool operator()();
  /// Raises what the handler raised; throws once the interpreter ends.
  void check();

private:
  std::chrono::steady_clock::time_point Next = std::chrono::steady_clock::now();
  std::optional<nb::python_error> Raised;
};

/// Holds the module, and the advisors, for one compilation. The GIL is the
/// lock: it is held here, and given up in between.
class Compiling {
public:
  Compiling(HostedModule &H, const std::vector<PyAdvisor *> &All);
  ~Compiling();
  Compiling(const Compiling &) = delete;

private:
  HostedModule &H;
  std::vector<PyAdvisor *> Advisors;
};

} // namespace passpilot

#endif
