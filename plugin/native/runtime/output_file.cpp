// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "output_file.h"

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <fcntl.h>
#include <string_view>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace fs = std::filesystem;

namespace passpilot {

/// The most symbolic links that Linux follows in one name.
static constexpr int MostLinks = 40;

[[noreturn]] static void fail(int Error) {
  throw std::system_error(Error, std::generic_category());
}

/// The descriptor that a name such as /dev/stdout or /dev/fd/3 stands for, or
/// -1. Opening the name again would write its file from the start.
static int descriptorOf(std::string_view Name) {
  if (Name == "-" || Name == "/dev/stdout")
    return STDOUT_FILENO;
  if (Name == "/dev/stderr")
    return STDERR_FILENO;
  for (std::string_view Folder : {"/dev/fd/", "/proc/self/fd/"}) {
    if (Name.substr(0, Folder.size()) != Folder)
      continue;
    const std::string_view Number = Name.substr(Folder.size());
    int FD = -1;
    const auto [End, Error] =
        std::from_chars(Number.data(), Number.data() + Number.size(), FD);
    if (Error == std::errc() && End == Number.data() + Number.size())
      return FD;
  }
  return -1;
}

/// Follows all symbolic links; the result need not exist.
static fs::path targetOf(const std::string &Name) {
  fs::path P = fs::absolute(Name);
  std::error_code Ignored;
  for (int I = 0; fs::is_symlink(P, Ignored); ++I) {
    if (I == MostLinks)
      fail(ELOOP);
    const fs::path Next = fs::read_symlink(P);
    P = Next.is_absolute() ? Next : P.parent_path() / Next;
  }
  return P;
}

static int duplicated(int FD) {
  const int Copy = fcntl(FD, F_DUPFD_CLOEXEC, 0);
  if (Copy < 0)
    fail(errno);
  return Copy;
}

void OutputFile::open(const std::string &Name) {
  discard();
  if (const int Known = descriptorOf(Name); Known >= 0) {
    std::fflush(stdout);
    FD = duplicated(Known);
    return;
  }
  struct stat Status{};
  if (stat(Name.c_str(), &Status) == 0 && !S_ISREG(Status.st_mode)) {
    // Do not block on a FIFO that has no reader.
    FD = ::open(Name.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK);
    if (FD < 0)
      fail(errno);
    fcntl(FD, F_SETFL, fcntl(FD, F_GETFL) & ~O_NONBLOCK);
    return;
  }
  Target = targetOf(Name);
  openTarget();
}

void OutputFile::openTarget() {
  const std::string Folder = Target.parent_path();
  FD = ::open(Folder.c_str(), O_WRONLY | O_CLOEXEC | O_TMPFILE, 0666);
  if (FD < 0) { // the file system does not support unnamed files
    Temporary = beside();
    FD = ::open(Temporary.c_str(), O_WRONLY | O_CLOEXEC | O_CREAT | O_EXCL,
                0666);
    if (FD < 0) {
      const int Error = errno;
      Temporary.clear();
      fail(Error);
    }
  }
  struct stat Before{};
  if (stat(Target.c_str(), &Before) == 0)
    fchmod(FD, Before.st_mode & 07777);
}

/// A temporary name next to the file, unique among threads and
/// processes.
std::string OutputFile::beside() const {
  char Suffix[64];
  std::snprintf(Suffix, sizeof Suffix, ".%d.%zx.tmp", getpid(),
                reinterpret_cast<size_t>(this));
  return Target.string() + Suffix;
}

int OutputFile::release() const { return duplicated(FD); }

void OutputFile::commit() {
  try {
    if (!Target.empty()) {
      if (Temporary.empty()) {
        const std::string Source = "/proc/self/fd/" + std::to_string(FD);
        const std::string Name = beside();
        if (linkat(AT_FDCWD, Source.c_str(), AT_FDCWD, Name.c_str(),
                   AT_SYMLINK_FOLLOW) != 0)
          fail(errno);
        Temporary = Name;
      }
      if (std::rename(Temporary.c_str(), Target.c_str()) != 0)
        fail(errno);
      Temporary.clear();
    }
    if (FD >= 0 && ::close(std::exchange(FD, -1)) != 0)
      fail(errno);
  } catch (...) {
    discard();
    throw;
  }
  discard();
}

void OutputFile::discard() {
  if (FD >= 0)
    ::close(std::exchange(FD, -1));
  if (!Temporary.empty())
    unlink(Temporary.c_str());
  Temporary.clear();
  Target.clear();
}

} // namespace passpilot
