// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An output file that appears complete or not at all, by the rules of
// plugin/files.py: a regular file has no name until it is complete; a symbolic
// link stays, and its target is replaced; the new file keeps the permissions of
// the caller's old one, but no bits such as setuid. Pipes, devices and `-`
// (standard output) are written directly; a FIFO must have a reader. In a
// sticky folder such as /tmp, the links and FIFOs of other users are refused.

#pragma once

#include <filesystem>
#include <string>

namespace passpilot {

/// All functions throw std::runtime_error with the reason.
class OutputFile {
public:
  OutputFile() = default;
  OutputFile(const OutputFile &) = delete;
  OutputFile &operator=(const OutputFile &) = delete;
  ~OutputFile() { discard(); }

  void open(const std::string &Name);
  /// Duplicates the file's descriptor; the caller closes it before commit() or
  /// discard().
  int release() const;
  /// The file's name until it is complete; empty if it has none.
  const std::string &temporary() const { return Temporary; }
  /// The file that commit() replaces or makes; empty if a pipe, a device or an
  /// open descriptor is written directly.
  const std::filesystem::path &target() const { return Target; }
  /// Moves the file into place and closes it.
  void commit();
  /// Closes the file and removes it.
  void discard();

private:
  int FD = -1;
  std::filesystem::path Target;
  std::string Temporary;

  void openTarget();
  std::string beside() const;
};

} // namespace passpilot
