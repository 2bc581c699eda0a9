// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A decision log whose file appears only when it is complete.

#pragma once

#include "decision_log.h"
#include "output_file.h"

namespace passpilot {

class LogFile {
public:
  ~LogFile() { drop(); }

  /// Throws std::runtime_error if the file cannot be written.
  void open(const std::string &Name, const std::vector<TensorSpec> &Specs);
  /// Null if the log is not open.
  DecisionLog *log() { return Log.get(); }
  /// The file's name until it is complete; empty if it has none.
  const std::string &temporary() const { return File.temporary(); }
  /// Closes the log and moves it into place. Throws std::runtime_error if a
  /// write failed.
  void keep();
  /// Closes the log and removes the file.
  void drop();
  /// The error for a file that cannot be written.
  std::string refusal(const std::string &Why) const;

private:
  std::string Path;
  OutputFile File;
  std::unique_ptr<DecisionLog> Log;

  [[noreturn]] void fail(const std::string &Why);
};

} // namespace passpilot
