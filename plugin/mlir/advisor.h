// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Who advises one run of the inliner: a native runner and its log, or Python.

#ifndef PASSPILOT_MLIR_ADVISOR_H
#define PASSPILOT_MLIR_ADVISOR_H

#include "../runtime/session.h"

#include "message.h"

namespace passpilot {

struct AdvisorOptions {
  std::string Runner, Log, OnError;
  double Timeout = 0;
};

class Advisor {
public:
  virtual ~Advisor() = default;
  virtual Session &session() = 0;
  /// Ends the run: its log appears unless \p Good is false or the session has
  /// failed. Tells what the user should know.
  virtual void finish(bool Good, Messages &Told) = 0;
};

/// Null after an error, which is told.
std::unique_ptr<Advisor> makeAdvisor(const AdvisorOptions &O, const Point &P,
                                     Messages &Told);

} // namespace passpilot

#endif
