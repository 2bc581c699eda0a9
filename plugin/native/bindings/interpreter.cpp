// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "interpreter.h"

#include <atomic>
#include <chrono>
#include <dlfcn.h>
#include <thread>

namespace passpilot {

static std::atomic<bool> Ending{false};
static std::atomic<int> Runs{0};
static thread_local int OwnRuns = 0; ///< those of Runs on this thread

ReleasedGIL::ReleasedGIL() {
  ++Runs;
  ++OwnRuns;
  if (!interpreterEnds())
    Released.emplace();
}

ReleasedGIL::~ReleasedGIL() {
  Released.reset();
  --Runs; // only once the GIL is back
  --OwnRuns;
}

/// Python's own answer; it is in the stable ABI only since 3.13.
static bool finalizing() {
  using Function = int();
  static auto *const Ask = [] {
    void *New = dlsym(RTLD_DEFAULT, "Py_IsFinalizing");
    void *Old = dlsym(RTLD_DEFAULT, "_Py_IsFinalizing");
    return reinterpret_cast<Function *>(New ? New : Old);
  }();
  return Ask();
}

bool interpreterEnds() { return Ending || finalizing(); }

void endRuns() {
  Ending = true;
  nb::object Threads = nb::module_::import_("threading").attr("active_count")();
  if (nb::cast<int>(Threads) > 1) // daemon threads may still hold objects
    nb::set_leak_warnings(false);
  nb::gil_scoped_release NoGIL;
  // A compiler may end the process within a pass in Python, on this thread.
  for (int Wait = 0; Runs > OwnRuns && Wait < 1000; ++Wait)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

} // namespace passpilot
