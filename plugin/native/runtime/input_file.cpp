// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "input_file.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace passpilot {

static std::string complaint(const struct stat &Status, int64_t Most) {
  if (S_ISREG(Status.st_mode))
    return Status.st_size > Most ? std::strerror(EFBIG) : "";
  return S_ISDIR(Status.st_mode) ? std::strerror(EISDIR) : "not a regular file";
}

int openInput(const std::string &Path, std::string &Why, int64_t Most) {
  // With O_NONBLOCK, a FIFO opens without a writer; then it is refused.
  const int FD = open(Path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat Status{};
  if (FD < 0 || fstat(FD, &Status) != 0)
    Why = std::strerror(errno);
  else
    Why = complaint(Status, Most);
  if (FD < 0 || Why.empty())
    return FD;
  close(FD);
  return -1;
}

std::optional<std::string> readInput(const std::string &Path, std::string &Why,
                                     int64_t Most) {
  struct Descriptor {
    const int FD;
    ~Descriptor() {
      if (FD >= 0)
        close(FD);
    }
  } const File{openInput(Path, Why, Most)};
  struct stat Status{};
  if (File.FD < 0 || fstat(File.FD, &Status) != 0)
    return std::nullopt;
  std::string Text(static_cast<size_t>(Status.st_size), '\0');
  size_t Size = 0;
  while (Size < Text.size()) {
    const ssize_t Got = read(File.FD, Text.data() + Size, Text.size() - Size);
    if (Got < 0 && errno == EINTR)
      continue;
    if (Got < 0) {
      Why = std::strerror(errno);
      return std::nullopt;
    }
    if (Got == 0)
      break; // somebody has cut the file
    Size += static_cast<size_t>(Got);
  }
  Text.resize(Size);
  return Text;
}

} // namespace passpilot
