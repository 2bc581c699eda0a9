// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The command `passpilot`. It becomes Python, which runs the subcommand; but
// for `passpilot cc` and `c++` it becomes clang at once if nothing needs
// Python, because Python's start takes longer than clang's. It links no LLVM.

#include "clang_command.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

namespace {

/// The folder of this program, without links; empty if the system does not say.
std::string ownFolder() {
  char path[PATH_MAX];
  ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  if (length <= 0 || length == sizeof path)
    return "";
  std::string folder(path, size_t(length));
  return folder.substr(0, folder.rfind('/'));
}

/// passpilot's package, as pip puts it beside a script:
/// PREFIX/lib/pythonX.Y/site-packages for PREFIX/bin.
struct Package {
  std::string python; ///< such as python3.11
  std::string plugin; ///< the path of libpasspilot.so
};

/// The package of this program; none if the prefix has none, or several for
/// different versions of Python.
std::optional<Package> findPackage(const std::string &bin) {
  std::optional<Package> found;
  for (const char *lib : {"/lib", "/lib64"}) {
    std::string above = bin.substr(0, bin.rfind('/')) + lib;
    DIR *folder = opendir(above.c_str());
    if (!folder)
      continue;
    while (const dirent *entry = readdir(folder)) {
      if (std::strncmp(entry->d_name, "python3.", 8) != 0)
        continue;
      for (const char *packages : {"/site-packages", "/dist-packages"}) {
        std::string plugin = above + "/" + entry->d_name + packages +
                             "/passpilot/plugin/libpasspilot.so";
        if (access(plugin.c_str(), R_OK) != 0)
          continue;
        if (found && found->python != entry->d_name) {
          closedir(folder);
          return std::nullopt;
        }
        found = Package{entry->d_name, plugin};
      }
    }
    closedir(folder);
  }
  return found;
}

/// Whether as many files can be opened at once as Python opens at its start;
/// with fewer it ends with a traceback of its own.
bool canOpenFiles() {
  std::array<int, 12> opened{};
  size_t count = 0;
  while (count < opened.size() &&
         (opened[count] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
    ++count;
  for (size_t each = 0; each < count; ++each)
    close(opened[each]);
  return count == opened.size();
}

/// Returns only if there is no Python.
void becomePython(const std::string &bin, const std::string &name, int count,
                  char **arguments) {
  // As for a script, the current folder is no place for modules (-P).
  static char safe[] = "-Pc",
              program[] = "from passpilot.cli.main import run; run()";
  std::string beside = bin + "/" + name;
  std::vector<char *> words = {beside.data(), safe, program};
  words.insert(words.end(), arguments + 1, arguments + count);
  words.push_back(nullptr);
  execv(beside.c_str(), words.data());
  if (errno == ENOENT) { // as after `pip install --user`
    std::string plain = name;
    words[0] = plain.data();
    execvp(plain.c_str(), words.data());
  }
}

} // namespace

int main(int count, char **arguments) {
  std::string bin = ownFolder();
  std::optional<Package> package = findPackage(bin);
  std::string command = count > 1 ? arguments[1] : "";
  if (package && (command == "cc" || command == "c++"))
    passpilot::tryToBecomeClang(
        command == "c++", {arguments + 2, arguments + count}, package->plugin);
  if (!canOpenFiles()) {
    std::fprintf(stderr,
                 "passpilot: error: expected to open 12 files at once, got: "
                 "%s; raise the limit (ulimit -n)\n",
                 std::strerror(errno));
    return 1;
  }
  std::string python = package ? package->python : "python3";
  becomePython(bin, python, count, arguments);
  std::fprintf(stderr,
               "passpilot: error: expected %s in %s or on the PATH, got: %s; "
               "install passpilot again\n",
               python.c_str(), bin.c_str(), std::strerror(errno));
  return 1;
}
