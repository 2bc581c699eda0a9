// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The advisor of one compilation in a foreign compiler: a native runner with
// its log, or Python.

#pragma once

#include "../runtime/session.h"

#include "message.h"

namespace passpilot {

struct AdvisorOptions {
  std::string Runner, Log, OnError = "fail";
  double Timeout = 10, Limit = 0;
  std::string Unasked;     ///< why the runner may never be asked
  std::string Triple = {}; ///< of the module; may be empty
  /// Identifies the compilation among those of a build, whose log another must
  /// not replace; empty if any may.
  std::string Compilation = {};
};

class Advisor {
public:
  virtual ~Advisor() = default;
  virtual Session &session() = 0;
  /// Ends the compilation. The log appears unless \p Good is false or the
  /// session has failed. Adds messages for the user to \p Report, except for
  /// unaskedWarning().
  virtual void finish(bool Good, Messages &Report) = 0;
};

/// Whether a successful compilation has asked no question.
bool neverAsked(const Session &S);

/// Returns null after an error, which it adds to \p Report.
std::unique_ptr<Advisor> makeAdvisor(const AdvisorOptions &O, const Point &P,
                                     Messages &Report);

/// The warning that the runner was never asked.
Message unaskedWarning(const std::string &Point, const AdvisorOptions &O);

/// The advisor's counts, in the format of `--stats`. \p Who names its runner
/// and the module.
std::string report(const Session &S, const std::string &Who);

} // namespace passpilot
