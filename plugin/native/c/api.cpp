// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions of passpilot.h; none lets an exception escape.

#include "c_runner.h"

#include "../runtime/text.h"

#include <new>
#include <stdexcept>
#include <utility>

using namespace passpilot;

namespace {

/// The last error of a thread. Setting it needs memory, but never throws.
class ErrorText {
public:
  void set(const char *Error) noexcept {
    try {
      Text = Error;
      Lost = false;
    } catch (...) {
      Lost = true;
    }
  }
  const char *text() const noexcept {
    return Lost ? "passpilot: no memory left to describe the error"
                : Text.c_str();
  }

private:
  std::string Text;
  bool Lost = false;
};

thread_local ErrorText LastError;

/// Returns \p Call's result, or \p Failed after an error, which it stores.
template <typename Result, typename Function>
Result guarded(Result Failed, Function Call) noexcept {
  try {
    return Call();
  } catch (const std::bad_alloc &) {
    LastError.set("passpilot: expected memory, got none");
  } catch (const std::exception &E) {
    LastError.set(E.what());
  } catch (...) {
    LastError.set("passpilot: an error of an unknown kind");
  }
  return Failed;
}

/// Reserves a runner for the calling thread.
class Taken {
public:
  explicit Taken(passpilot_runner &R) : R(R) {
    if (!R.Session->runner().reserve())
      throw std::logic_error(R.Point.Name +
                             " advisor: expected one thread at a time, got "
                             "two; make a runner for each");
  }
  ~Taken() { R.Session->runner().release(); }

private:
  passpilot_runner &R;
};

template <typename T> T &given(T *P, const char *What) {
  if (!P)
    throw std::invalid_argument(std::string("passpilot: expected ") + What +
                                ", got null");
  return *P;
}

} // namespace

passpilot_runner *passpilot_runner_create(const char *Spec,
                                          const passpilot_point *P,
                                          const passpilot_options *O) {
  return guarded<passpilot_runner *>(nullptr, [&] {
    return new passpilot_runner(Spec, given(P, "a decision point"), O);
  });
}

void *passpilot_runner_input(passpilot_runner *R, const char *Name) {
  return guarded<void *>(nullptr,
                         [&] { return given(R, "a runner").input(Name); });
}

int64_t *passpilot_runner_mask(passpilot_runner *R) {
  return R ? R->Session->mask() : nullptr;
}

passpilot_advice *passpilot_runner_default(passpilot_runner *R) {
  return R ? reinterpret_cast<passpilot_advice *>(&R->Memory->Default)
           : nullptr;
}

int passpilot_runner_reads(passpilot_runner *R, const char *Name) {
  return guarded(0, [&] { return R && R->reads(Name) ? 1 : 0; });
}

int passpilot_runner_evaluate(passpilot_runner *R, passpilot_advice *Answer) {
  return guarded(1, [&] {
    Taken Mine(given(R, "a runner"));
    R->evaluate(given(Answer, "a place for the advice"));
    return 0;
  });
}

void passpilot_runner_switch_context(passpilot_runner *R, const char *Name) {
  guarded(1, [&] {
    Taken Mine(given(R, "a runner"));
    if (!R->Closed)
      R->Session->switchContext(Name ? Name : "");
    return 0;
  });
}

void passpilot_runner_set_place(passpilot_runner *R,
                                const passpilot_place *Place) {
  guarded(1, [&] {
    if (R)
      R->Question.setPlace(Place);
    return 0;
  });
}

uint64_t passpilot_runner_fallbacks(const passpilot_runner *R) {
  return R ? R->Session->Counts.Fallbacks : 0;
}

int passpilot_runner_close(passpilot_runner *R, int Keep) {
  return guarded(1, [&] {
    Taken Mine(given(R, "a runner"));
    R->close(Keep != 0);
    return 0;
  });
}

void passpilot_runner_destroy(passpilot_runner *R) {
  ErrorText Before;
  std::swap(Before, LastError);
  if (R && !R->Closed)
    passpilot_runner_close(R, 0);
  guarded(1, [&] {
    delete R;
    return 0;
  });
  std::swap(Before, LastError);
}

const char *passpilot_last_error(void) { return LastError.text(); }
