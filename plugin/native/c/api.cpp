// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions of passpilot.h: nothing is thrown past them.

#include "c_runner.h"

#include <stdexcept>

using namespace passpilot;

namespace {

thread_local std::string LastError;

/// What \p Call returns, or \p Failed after an error, which is kept.
template <typename Result, typename Function>
Result guarded(Result Failed, Function Call) {
  try {
    return Call();
  } catch (const std::exception &E) {
    LastError = E.what();
  } catch (...) {
    LastError = "passpilot: an error of an unknown kind";
  }
  return Failed;
}

/// A runner for one thread.
class Taken {
public:
  explicit Taken(passpilot_runner &R) : R(R) {
    if (R.Busy.test_and_set(std::memory_order_acquire))
      throw std::logic_error(R.Point.Name +
                             " advisor: expected one thread at a time, got "
                             "two; make a runner for each");
  }
  ~Taken() { R.Busy.clear(std::memory_order_release); }

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
  const passpilot_options Plain = PASSPILOT_OPTIONS_INIT;
  return guarded<passpilot_runner *>(nullptr, [&] {
    return new passpilot_runner(Spec, given(P, "a decision point"),
                                O ? *O : Plain);
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
  return R && R->reads(Name);
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
  if (R)
    R->Question.setPlace(Place);
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
  const std::string Before = LastError;
  if (R && !R->Closed)
    passpilot_runner_close(R, 0);
  delete R;
  LastError = Before;
}

const char *passpilot_last_error(void) { return LastError.c_str(); }
