// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "output_file.h"

#include "text.h"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <string_view>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

namespace fs = std::filesystem;

namespace passpilot {

/// The most symbolic links that Linux follows in one name.
static constexpr int MostLinks = 40;

[[noreturn]] static void fail(const std::error_code &Error) {
  throw std::runtime_error(Error.message());
}

[[noreturn]] static void fail(int Error) {
  fail(std::error_code(Error, std::generic_category()));
}

/// The descriptor that a name such as /dev/stdout or /dev/fd/3 stands for, or
/// -1. Opening the name again would write its file from the start.
static int descriptorOf(std::string_view Name) {
  if (Name == "-" || Name == "/dev/stdout")
    return STDOUT_FILENO;
  if (Name == "/dev/stderr")
    return STDERR_FILENO;
  for (std::string_view Folder : {"/dev/fd/", "/proc/self/fd/"})
    if (Name.substr(0, Folder.size()) == Folder)
      return number<int>(Name.substr(Folder.size())).value_or(-1);
  return -1;
}

/// In a sticky folder such as /tmp, refuses the link or FIFO of a user who is
/// neither the caller nor the folder's owner.
static void checkOwner(const struct stat &Found, const fs::path &Folder) {
  struct stat Around{};
  if (stat(Folder.c_str(), &Around) != 0)
    fail(errno);
  if (Around.st_mode & S_ISVTX && Found.st_uid != geteuid() &&
      Found.st_uid != Around.st_uid)
    throw std::runtime_error(
        "another user's link or FIFO in a folder that many may write");
}

/// Pushes the parts of a path so that the first one is on top.
static void pushParts(std::vector<fs::path> &Rest, const fs::path &P) {
  const std::vector<fs::path> Parts(P.begin(), P.end());
  Rest.insert(Rest.end(), Parts.rbegin(), Parts.rend());
}

/// Follows all symbolic links of a path and checks who owns them; the end need
/// not exist.
static fs::path targetOf(const std::string &Name) {
  std::error_code Error;
  std::vector<fs::path> Rest;
  pushParts(Rest, fs::absolute(Name, Error));
  if (Error)
    fail(Error);
  fs::path Place = "/";
  int Links = 0;
  while (!Rest.empty()) {
    const fs::path Part = std::move(Rest.back());
    Rest.pop_back();
    if (Part.empty() || Part == ".")
      continue;
    if (Part == "..") {
      Place = Place.parent_path();
      continue;
    }
    const fs::path Here = Place / Part; // an absolute part replaces the place
    struct stat Status{};
    if (lstat(Here.c_str(), &Status) != 0) {
      if (errno != ENOENT)
        fail(errno);
    } else if (S_ISLNK(Status.st_mode)) {
      if (++Links > MostLinks)
        fail(ELOOP);
      checkOwner(Status, Place);
      pushParts(Rest, fs::read_symlink(Here, Error));
      if (Error)
        fail(Error);
      continue;
    }
    Place = Here;
  }
  return Place;
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
  const fs::path Found = targetOf(Name);
  struct stat Status{};
  if (stat(Name.c_str(), &Status) == 0 && !S_ISREG(Status.st_mode)) {
    if (S_ISFIFO(Status.st_mode))
      checkOwner(Status, Found.parent_path());
    // Do not block on a FIFO that has no reader.
    FD = ::open(Name.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK);
    if (FD < 0)
      fail(errno);
    fcntl(FD, F_SETFL, fcntl(FD, F_GETFL) & ~O_NONBLOCK);
    return;
  }
  if (!Name.empty() && Name.back() == '/')
    fail(EISDIR);
  Target = Found;
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
  // The permissions of another user's file, and bits such as setuid, are not
  // for a file of ours.
  struct stat Before{};
  if (lstat(Target.c_str(), &Before) == 0 && Before.st_uid == geteuid())
    fchmod(FD, Before.st_mode & 0777);
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
