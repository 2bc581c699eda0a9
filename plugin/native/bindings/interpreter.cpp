// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "interpreter.h"

#include <atomic>
#include <chrono>
#include <thread>

namespace passpilot {

static std::atomic<bool> Ending{false};
static std::atomic<int> Runs{0};

ReleasedGIL::ReleasedGIL() {
  ++Runs;
  if (!interpreterEnds())
    Released.emplace();
}

ReleasedGIL::~ReleasedGIL() {
  Released.reset();
  --Runs; // not before the GIL is back
}

bool interpreterEnds() {
#if PY_VERSION_HEX >= 0x030d0000
  return Ending || Py_IsFinalizing();
#else
  return Ending || _Py_IsFinalizing();
#endif
}

void endRuns() {
  Ending = true;
  nb::object Threads = nb::module_::import_("threading").attr("active_count")();
  if (nb::cast<int>(Threads) >
      1) // what daemon threads hold is not ours to free
    nb::set_leak_warnings(false);
  nb::gil_scoped_release NoGIL;
  for (int Wait = 0; Runs > 0 && Wait < 1000; ++Wait)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

} // namespace passpilot
