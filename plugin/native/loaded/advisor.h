// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Who advises one compilation in somebody else's compiler: a native runner and
// its log, or Python.

#ifndef PASSPILOT_LOADED_ADVISOR_H
#define PASSPILOT_LOADED_ADVISOR_H

#include "../runtime/session.h"

#include "message.h"

namespace passpilot {

struct AdvisorOptions {
  std::string Runner, Log, OnError = "fail";
  double Timeout = 10, Limit = 0;
  std::string Unasked; ///< why a runner may never be asked
};

class Advisor {
public:
  virtual ~Advisor() = default;
  virtual Session &session() = 0;
  /// What it is to do is Python's, and so are some failures.
  virtual bool inPython() const = 0;
  /// Ends the compilation: its log appears unless \p Good is false or the
  /// session has failed. Tells what the user should know, but for
  /// unaskedWarning().
  virtual void finish(bool Good, Messages &Told) = 0;
};

/// Whether a compilation that went well has had no question.
bool neverAsked(const Session &S);

/// Null after an error, which is told.
std::unique_ptr<Advisor> makeAdvisor(const AdvisorOptions &O, const Point &P,
                                     Messages &Told);

/// The runner was never asked.
Message unaskedWarning(const std::string &Point, const AdvisorOptions &O);

/// What the advisor did, in the manner of `--stats`. \p Who is its runner, and
/// where.
std::string report(const Session &S, const std::string &Who);

} // namespace passpilot

#endif
