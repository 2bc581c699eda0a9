// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// When C++ may hold, take and give up the GIL.

#ifndef PASSPILOT_BINDINGS_INTERPRETER_H
#define PASSPILOT_BINDINGS_INTERPRETER_H

#include "nanobind_all.h"

#include <optional>

namespace passpilot {

/// Whether the interpreter is about to end: its GIL must not be asked for.
bool interpreterEnds();

/// Gives the GIL up while it lives. Kept once the interpreter is about to end,
/// which waits for those who have given it up: whoever asked an ended
/// interpreter for it would be torn out of C++.
class ReleasedGIL {
public:
  ReleasedGIL();
  ~ReleasedGIL();
  ReleasedGIL(const ReleasedGIL &) = delete;

private:
  std::optional<nb::gil_scoped_release> Released;
};

/// Called at exit: ends what daemon threads compile. A thread that asked for
/// the GIL of an ended interpreter would be torn out of LLVM.
void endRuns();

} // namespace passpilot

#endif
