// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "log_file.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <stdexcept>
#include <sys/stat.h>
#include <unistd.h>

namespace fs = std::filesystem;

namespace passpilot {

/// What a new file may be used for; the umask can only be read by setting it,
/// which other threads would see.
static mode_t modeBeside(const std::string &Temporary) {
  const std::string Probe = Temporary + ".mode";
  struct stat Status{};
  const int FD =
      open(Probe.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
  const bool Known = FD >= 0 && fstat(FD, &Status) == 0;
  if (FD >= 0) {
    close(FD);
    unlink(Probe.c_str());
  }
  return Known ? Status.st_mode & 0777 : 0600;
}

void LogFile::open(const std::string &Name,
                   const std::vector<TensorSpec> &Specs) {
  Path = Name;
  std::error_code Ignored;
  int FD = -1;
  if (fs::exists(Path, Ignored) && !fs::is_regular_file(Path, Ignored)) {
    // Without waiting for the other end of a FIFO, should there be none.
    FD = ::open(Path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK);
    if (FD >= 0)
      fcntl(FD, F_SETFL, fcntl(FD, F_GETFL) & ~O_NONBLOCK);
  } else {
    Temporary = Path + ".XXXXXX";
    FD = mkostemp(Temporary.data(), O_CLOEXEC);
    if (FD >= 0)
      fchmod(FD, modeBeside(Temporary));
    else
      Temporary.clear();
  }
  if (FD < 0)
    fail(std::strerror(errno));
  Log = std::make_unique<DecisionLog>(FD, Specs);
}

void LogFile::keep() {
  if (!Log)
    return;
  const bool Written = Log->close();
  const std::string Why = Log->error();
  Log.reset();
  if (!Written)
    fail(Why);
  if (!Temporary.empty() && std::rename(Temporary.c_str(), Path.c_str()) != 0)
    fail(std::strerror(errno));
  Temporary.clear();
}

void LogFile::drop() {
  Log.reset();
  if (!Temporary.empty())
    unlink(Temporary.c_str());
  Temporary.clear();
}

void LogFile::fail(const std::string &Why) {
  drop();
  throw std::runtime_error("decision log " + Path +
                           ": expected a file to write, got: " + Why);
}

} // namespace passpilot
