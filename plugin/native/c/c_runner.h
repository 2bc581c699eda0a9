// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a passpilot_runner is: a session of one runner, whose questions a
// foreign compiler asks.

#ifndef PASSPILOT_C_C_RUNNER_H
#define PASSPILOT_C_C_RUNNER_H

#include "../runtime/log_file.h"
#include "c_point.h"
#include "python_runner.h"

#include <atomic>

namespace passpilot {

/// The decision that the caller describes, and where it says that it is.
class CallerQuestion final : public Question {
public:
  CallerQuestion(const Point &P, const SharedMemory &M) : P(P), Memory(M) {}
  void setPlace(const passpilot_place *To);

  Advice defaultAdvice() override { return Memory.Default; }
  DecisionPlace place() override { return Place; }
  std::string forbidden(Advice A) override;
  const int64_t *Mask = nullptr;

private:
  const Point &P;
  const SharedMemory &Memory;
  std::string Caller, Callee, File;
  DecisionPlace Place;
};

} // namespace passpilot

struct passpilot_runner {
  /// Throws what is wrong.
  passpilot_runner(const char *Spec, const passpilot_point &P,
                   const passpilot_options &O);

  void *input(const char *Name);
  bool reads(const char *Name) const;
  /// Throws what is wrong; the caller has it for itself.
  void evaluate(passpilot_advice &Answer);
  void close(bool Keep);

  const passpilot::Point Point;
  const std::shared_ptr<passpilot::SharedMemory> Memory;
  passpilot::CallerQuestion Question;
  std::unique_ptr<passpilot::Session> Session;
  std::atomic_flag Busy = ATOMIC_FLAG_INIT;
  bool Closed = false;

private:
  const std::string Spec;
  const passpilot_options Options;
  passpilot::PythonRunner *InPython = nullptr; ///< the session's, if it is one
  passpilot::LogFile Log;

  std::shared_ptr<passpilot::Runner> make();
  void warn(const std::string &Text) const;
  void warn(const passpilot::Messages &Told) const;
  std::string told(const passpilot::Failure &F) const;
  void checkDefault() const;
};

#endif
