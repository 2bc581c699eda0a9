// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The implementation of passpilot_runner: a session with one runner, asked by a
// foreign compiler.

#pragma once

#include "../runtime/log_file.h"
#include "c_point.h"
#include "python_runner.h"

namespace passpilot {

/// The decision that the caller describes, with its place.
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
  /// Throws if the arguments are wrong or the runner cannot be made.
  passpilot_runner(const char *Spec, const passpilot_point &P,
                   const passpilot_options *O);

  void *input(const char *Name);
  bool reads(const char *Name) const;
  /// Throws if there is no answer. The caller holds the runner for its thread.
  void evaluate(passpilot_advice &Answer);
  void close(bool Keep);

  const passpilot::Point Point;
  const std::shared_ptr<passpilot::SharedMemory> Memory;
  passpilot::CallerQuestion Question;
  std::unique_ptr<passpilot::Session> Session;
  bool Closed = false;

private:
  const std::string Spec;
  const passpilot_options Options;
  passpilot::PythonRunner *InPython = nullptr; ///< set if Python made it
  passpilot::LogFile Log;

  std::shared_ptr<passpilot::Runner> make();
  void warn(const std::string &Text) const;
  void warn(const passpilot::Messages &Report) const;
  std::string describe(const passpilot::Failure &F) const;
  void checkDefault() const;
};
