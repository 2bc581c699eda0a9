// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A decision log that appears when it is complete.

#ifndef PASSPILOT_RUNTIME_LOG_FILE_H
#define PASSPILOT_RUNTIME_LOG_FILE_H

#include "decision_log.h"

namespace passpilot {

class LogFile {
public:
  ~LogFile() { drop(); }

  /// Throws std::runtime_error if it cannot be written. What is no regular file
  /// is written at once.
  void open(const std::string &Name, const std::vector<TensorSpec> &Specs);
  /// Null if it is not open.
  DecisionLog *log() { return Log.get(); }
  /// The file that it is until then; empty if there is none.
  const std::string &temporary() const { return Temporary; }
  /// Likewise; it is closed in any case.
  void keep();
  void drop();

private:
  std::string Path, Temporary;
  std::unique_ptr<DecisionLog> Log;

  [[noreturn]] void fail(const std::string &Why);
};

} // namespace passpilot

#endif
