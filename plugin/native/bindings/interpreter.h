// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether and when C++ may hold, take and release the GIL.

#pragma once

#include "nanobind_all.h"

#include <optional>

namespace passpilot {

/// Whether the interpreter is ending: its GIL must not be taken.
bool interpreterEnds();

/// Releases the GIL while it lives, but not once the interpreter is ending. The
/// ending interpreter waits for threads that have released the GIL; taking an
/// ended interpreter's GIL would kill the thread inside C++.
class ReleasedGIL {
public:
  ReleasedGIL();
  ~ReleasedGIL();
  ReleasedGIL(const ReleasedGIL &) = delete;

private:
  std::optional<nb::gil_scoped_release> Released;
};

/// Called at exit: waits for other threads that compile. A thread that takes
/// an ended interpreter's GIL would be killed inside LLVM.
void endRuns();

} // namespace passpilot
