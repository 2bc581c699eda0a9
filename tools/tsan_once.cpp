// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// pthread_once for tools/sanitize.sh, which preloads it before
// ThreadSanitizer's runtime. That ignores all memory accesses below a call from
// a library that is built without it. LLVM runs each task of its thread pool, a
// whole ThinLTO backend among them, below a call of pthread_once: nothing of
// the plugin would be looked at there. This one is built with ThreadSanitizer,
// and so waits where it sees it.

#include <atomic>
#include <pthread.h>
#include <sched.h>

static_assert(sizeof(std::atomic<int>) == sizeof(pthread_once_t));

namespace {
enum State : int { Fresh = PTHREAD_ONCE_INIT, Running = 1, Done = 2 };

/// Lets the next caller try again if the function throws.
struct Reset {
  std::atomic<int> &State;
  int Next = Fresh;
  ~Reset() { State.store(Next, std::memory_order_release); }
};
} // namespace

extern "C" int pthread_once(pthread_once_t *Control, void (*Function)()) {
  auto &State = *reinterpret_cast<std::atomic<int> *>(Control);
  while (State.load(std::memory_order_acquire) != Done) {
    int Expected = Fresh;
    if (State.compare_exchange_strong(Expected, Running)) {
      Reset Then{State};
      Function();
      Then.Next = Done;
    } else if (Expected == Running) {
      sched_yield();
    }
  }
  return 0;
}
