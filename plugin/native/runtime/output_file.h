// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An output that appears whole or not at all, by the rules of plugin/files.py:
// a regular file has no name until it is complete; a symbolic link stays one,
// and its target is replaced; the file keeps the permissions of the one that it
// replaces. What is no regular file (a pipe, a device, `-` for standard output)
// is written directly; a FIFO must have a reader.

#ifndef PASSPILOT_RUNTIME_OUTPUT_FILE_H
#define PASSPILOT_RUNTIME_OUTPUT_FILE_H

#include <filesystem>
#include <string>

namespace passpilot {

/// Its functions throw std::system_error.
class OutputFile {
public:
  OutputFile() = default;
  OutputFile(const OutputFile &) = delete;
  OutputFile &operator=(const OutputFile &) = delete;
  ~OutputFile() { discard(); }

  void open(const std::string &Name);
  /// Another descriptor of the file, for somebody who closes it before
  /// commit() or discard().
  int release() const;
  /// The name of the file until it is complete; empty if it has none.
  const std::string &temporary() const { return Temporary; }
  /// Puts the file in its place and closes it.
  void commit();
  /// Closes the file and removes what was written.
  void discard();

private:
  int FD = -1;
  /// Where commit() puts it; empty for what is written directly.
  std::filesystem::path Target;
  std::string Temporary;

  void openTarget();
  std::string beside() const;
};

} // namespace passpilot

#endif
