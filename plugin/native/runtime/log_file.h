// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A decision log that appears when it is complete.

#ifndef PASSPILOT_RUNTIME_LOG_FILE_H
#define PASSPILOT_RUNTIME_LOG_FILE_H

#include "decision_log.h"
#include "output_file.h"

namespace passpilot {

class LogFile {
public:
  ~LogFile() { drop(); }

  /// Throws std::runtime_error if it cannot be written.
  void open(const std::string &Name, const std::vector<TensorSpec> &Specs);
  /// Null if it is not open.
  DecisionLog *log() { return Log.get(); }
  /// The name of the file until it is complete; empty if it has none.
  const std::string &temporary() const { return File.temporary(); }
  /// Closes it and puts it in its place. Throws std::runtime_error if it could
  /// not be written.
  void keep();
  /// Closes it and removes what was written.
  void drop();

private:
  std::string Path;
  OutputFile File;
  std::unique_ptr<DecisionLog> Log;

  [[noreturn]] void fail(const std::string &Why);
};

} // namespace passpilot

#endif
