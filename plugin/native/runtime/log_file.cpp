// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "log_file.h"

#include <fstream>
#include <stdexcept>

namespace passpilot {

/// Whether a log would replace a file that is no log, such as the source;
/// features/log/existing.py has the same rule.
static bool isOtherFile(const std::filesystem::path &Target) {
  std::error_code None;
  if (!std::filesystem::is_regular_file(Target, None))
    return false;
  const int First = std::ifstream(Target, std::ios::binary).get();
  return First != EOF && First != '{';
}

void LogFile::open(const std::string &Name,
                   const std::vector<TensorSpec> &Specs) {
  Path = Name;
  try {
    File.open(Name);
    if (isOtherFile(File.target()))
      throw std::runtime_error("another file that is no log");
    Log = std::make_unique<DecisionLog>(File.release(), Specs);
  } catch (const std::runtime_error &E) {
    fail(E.what());
  }
}

void LogFile::keep() {
  if (!Log)
    return;
  const bool Written = Log->close();
  const std::string Why = Log->error();
  Log.reset();
  if (!Written)
    fail(Why);
  try {
    File.commit();
  } catch (const std::runtime_error &E) {
    fail(E.what());
  }
}

void LogFile::drop() {
  Log.reset();
  File.discard();
}

std::string LogFile::refusal(const std::string &Why) const {
  return "decision log " + Path + ": expected a file to write, got: " + Why;
}

void LogFile::fail(const std::string &Why) {
  drop();
  throw std::runtime_error(refusal(Why));
}

} // namespace passpilot
