// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "build_process.h"

#include "launcher_tables.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdlib>
#include <ctime>
#include <iterator>
#include <optional>
#include <string_view>

namespace passpilot {
namespace {

/// What the system says of a process.
struct Process {
  int number = 0, parent = 0, group = 0, session = 0;
  std::string name;
  unsigned long long start = 0;

  template <typename Table> bool isOneOf(const Table &table) const {
    return std::find(std::begin(table), std::end(table),
                     std::string_view(name)) != std::end(table);
  }
};

/// A process; none if it is not there, or hidden.
std::optional<Process> findProcess(int number) {
  std::array<char, 1024> data{};
  const std::string path = "/proc/" + std::to_string(number) + "/stat";
  int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return std::nullopt;
  ssize_t length = read(file, data.data(), data.size() - 1);
  close(file);
  const std::string_view text(data.data(), length > 0 ? size_t(length) : 0);
  size_t begin = text.find('('), end = text.rfind(')');
  if (begin == std::string_view::npos || end == std::string_view::npos)
    return std::nullopt;
  Process found;
  found.number = number;
  found.name = text.substr(begin + 1, end - begin - 1);
  // Behind the name: a letter for the state, and numbers.
  const char *rest = data.data() + std::min(end + 3, text.size());
  std::array<unsigned long long, 19> numbers{};
  for (unsigned long long &each : numbers) {
    char *after = nullptr;
    each = std::strtoull(rest, &after, 10);
    if (after == rest)
      return std::nullopt;
    rest = after;
  }
  found.parent = int(numbers[0]);
  found.group = int(numbers[1]);
  found.session = int(numbers[2]);
  found.start = numbers[18];
  return found;
}

} // namespace

std::string buildHere() {
  const std::optional<Process> own = findProcess(getpid());
  if (!own)
    return "";
  std::optional<Process> tool, outermost, above;
  for (Process below = *own;
       (above = findProcess(below.parent)) && above->session == own->session;
       below = *above) {
    if (above->isOneOf(kShells) &&
        (below.group == below.number || // a job
         (below.number == own->number && above->number == own->session &&
          isatty(2))))
      break;
    if (above->isOneOf(kBuildTools))
      tool = above;
    outermost = above;
  }
  if (tool)
    outermost = tool;
  return outermost ? std::to_string(outermost->number) + "-" +
                         std::to_string(outermost->start)
                   : "";
}

std::string saidFile(const std::string &key) {
  const char *cache = std::getenv("XDG_CACHE_HOME"),
             *home = std::getenv("HOME");
  const bool isSet = cache && *cache;
  if (!isSet && !home)
    return "";
  return (isSet ? std::string(cache) : std::string(home) + "/.cache") +
         "/passpilot/said/" + key;
}

bool wasSaid(const std::string &build, const std::string &key) {
  std::string name = build + "-" + key;
  std::replace(name.begin(), name.end(), '/', '_');
  name = name.substr(name.size() - std::min<size_t>(name.size(), 200));
  const std::string path = saidFile(name);
  for (size_t i = path.find('/', 1); i != std::string::npos;
       i = path.find('/', i + 1))
    mkdir(path.substr(0, i).c_str(), 0777);
  const int file =
      open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
  if (file >= 0) {
    close(file);
    return false;
  }
  struct stat status;
  if (stat(path.c_str(), &status) != 0)
    return false;
  utimes(path.c_str(), nullptr);
  return std::time(nullptr) - status.st_mtime < kSaidPause;
}

bool isProbe(const std::string &source) {
  std::array<char, PATH_MAX> folder{};
  const char *here = getcwd(folder.data(), folder.size());
  const std::string where = here ? here : "";
  return std::any_of(std::begin(kProbes), std::end(kProbes),
                     [&](const char *part) {
                       return source.find(part) != std::string::npos ||
                              where.find(part) != std::string::npos;
                     });
}

} // namespace passpilot
