// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// libpasspilot_preload.so: advises or records a build that names its compilers
// itself. `passpilot build` and `passpilot tune -- BUILD` load it into all
// programs of the build (LD_PRELOAD). Where one of them starts a compiler,
// `passpilot cc` starts in its place, so that no absolute path, launcher or
// toolchain file escapes. A recording has linkers, too; and the names of all
// programs are noted in a file, to say what has run.
//
// The functions run in children of vfork and beside other threads, so they
// take memory from the stack alone. Without the first variable below they do
// what those of the C library do.

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <alloca.h>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <type_traits>

namespace {

using Words = char *const *;

/// The command `passpilot`, the folder of a recording, more words for compilers
/// with a newline behind each, and the file of the programs' names.
constexpr const char *kCommand = "PASSPILOT_COMPILER";
constexpr const char *kFolder = "PASSPILOT_RECORDING";
constexpr const char *kWords = "PASSPILOT_WORDS";
constexpr const char *kPrograms = "PASSPILOT_PROGRAMS";

constexpr const char *kPreload = "LD_PRELOAD";

/// These variables as this program got them, as NAME=VALUE: wrappers such as
/// `env -i` clear them. Empty where this program is not part of a build.
struct Kept {
  static constexpr size_t kSize = size_t{4} * PATH_MAX;
  char texts[5][kSize];
} kept;

const char *kLaunchers[] = {"ccache", "sccache", "distcc", "icecc"};

const char *valueOf(Words variables, const char *name) {
  size_t length = std::strlen(name);
  for (; variables && *variables; ++variables)
    if (std::strncmp(*variables, name, length) == 0 &&
        (*variables)[length] == '=')
      return *variables + length + 1;
  return nullptr;
}

const char *baseName(const char *path) {
  const char *slash = std::strrchr(path, '/');
  return slash ? slash + 1 : path;
}

bool isOneOf(const char *word, size_t length, const char *const *begin,
             const char *const *end) {
  for (; begin != end; ++begin)
    if (std::strlen(*begin) == length &&
        std::strncmp(word, *begin, length) == 0)
      return true;
  return false;
}

/// What a program's name says of a compiler: its driver, and the target before
/// the last part, as in aarch64-linux-gnu-clang++-22.
struct Compiler {
  const char *driver = nullptr; ///< cc or c++; null for other programs
  size_t target = 0;            ///< the length of the target in the name
};

bool isThisMachine(const char *target, size_t length) {
#if defined(__x86_64__)
  constexpr char kMachine[] = "x86_64-";
#elif defined(__aarch64__)
  constexpr char kMachine[] = "aarch64-";
#elif defined(__riscv) && __riscv_xlen == 64
  constexpr char kMachine[] = "riscv64-";
#else
  constexpr char kMachine[] = "-";
#endif
  constexpr char kSystem[] = "linux-gnu";
  constexpr size_t kTail = sizeof kSystem - 1;
  return length > kTail &&
         std::strncmp(target, kMachine, sizeof kMachine - 1) == 0 &&
         std::strncmp(target + length - kTail, kSystem, kTail) == 0;
}

/// The length of a name without a version behind it, as in clang-22.
size_t withoutVersion(const char *name) {
  size_t length = std::strlen(name);
  size_t version = length;
  while (version && std::strchr("0123456789.", name[version - 1]))
    --version;
  return version && name[version - 1] == '-' ? version - 1 : length;
}

/// Whether a program is a linker that a build may call itself, such as
/// ld.lld-22 or arm-none-eabi-ld.
bool isLinker(const char *path) {
  static const char *const linkers[] = {"ld", "ld.lld", "ld.bfd", "ld.gold"};
  const char *name = baseName(path);
  size_t length = withoutVersion(name);
  size_t start = length;
  while (start && name[start - 1] != '-')
    --start;
  return isOneOf(name + start, length - start, std::begin(linkers),
                 std::end(linkers));
}

Compiler compilerOf(const char *path) {
  static const char *const c[] = {"cc", "gcc", "clang"};
  static const char *const cxx[] = {"c++", "g++", "clang++"};
  const char *name = baseName(path);
  size_t length = withoutVersion(name);
  size_t start = length;
  while (start && name[start - 1] != '-')
    --start;
  const char *last = name + start;
  length -= start;
  Compiler found;
  if (isOneOf(last, length, std::begin(c), std::end(c)))
    found.driver = "cc";
  else if (isOneOf(last, length, std::begin(cxx), std::end(cxx)))
    found.driver = "c++";
  if (!found.driver || start == 0)
    return found;
  if (isThisMachine(name, start - 1))
    return found;
  // Only clang can stand in for a cross compiler, and only clang's names take
  // a target: those of gcc bring a C library of their own.
  bool clang = std::strncmp(last, "clang", 5) == 0;
  if (!clang || !std::memchr(name, '-', start - 1))
    return {};
  found.target = start - 1;
  return found;
}

/// Whether the path can be executed: callers may try each folder of PATH.
bool isProgram(const char *path) {
  struct stat status{};
  return access(path, X_OK) == 0 && stat(path, &status) == 0 &&
         S_ISREG(status.st_mode);
}

/// Whether a program is a script, which calls a compiler itself.
bool isScript(const char *path) {
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return false;
  char start[2] = {};
  bool script = read(file, start, 2) == 2 && start[0] == '#' && start[1] == '!';
  close(file);
  return script;
}

/// The program's path in `path`, searched as the C library does it; null if it
/// is not found.
const char *searched(const char *name, char *path) {
  if (std::strchr(name, '/'))
    return name;
  const char *folders = valueOf(environ, "PATH");
  if (!folders)
    folders = "/bin:/usr/bin";
  while (folders) {
    const char *end = std::strchr(folders, ':');
    int length = int(end ? end - folders : std::strlen(folders));
    if (std::snprintf(path, PATH_MAX, "%.*s%s%s", length, folders,
                      length ? "/" : "", name) < PATH_MAX &&
        isProgram(path))
      return path;
    folders = end ? end + 1 : nullptr;
  }
  return nullptr;
}

void note(const char *path, const char *program) {
  int file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0)
    return;
  char line[PATH_MAX + 2];
  int length = std::snprintf(line, sizeof line, "%.4095s\n", program);
  [[maybe_unused]] ssize_t written = write(file, line, size_t(length));
  close(file);
}

bool isLauncher(const char *path) {
  const char *name = baseName(path);
  return isOneOf(name, std::strlen(name), std::begin(kLaunchers),
                 std::end(kLaunchers));
}

/// A program, its arguments and variables, as they are or changed. The words
/// live as long as the object, which is on the stack of the calling function.
struct Program {
  const char *path;
  Words arguments, variables;
};

size_t count(Words words) {
  size_t number = 0;
  while (words && words[number])
    ++number;
  return number;
}

/// The variables with those that were cleared; `place` has room for them and
/// for the text of `LD_PRELOAD`.
Words restored(Words variables, char **place, char *text) {
  size_t used = 0;
  const char *others = valueOf(variables, kPreload);
  const char *ours = kept.texts[0] + std::strlen(kPreload) + 1;
  bool joined = others && !std::strstr(others, ours);
  for (; variables && *variables; ++variables)
    if (!joined || std::strncmp(*variables, "LD_PRELOAD=", 11) != 0)
      place[used++] = *variables;
  if (joined) {
    std::sprintf(text, "%s:%s", kept.texts[0], others);
    place[used++] = text;
  }
  for (char *each : kept.texts)
    if (*each && !(each == kept.texts[0] && others))
      place[used++] = each;
  place[used] = nullptr;
  return place;
}

/// What starts in place of a program.
struct Replacement {
  Compiler compiler; ///< without a driver, the program starts as it is
  const char *name;  ///< as which the compiler was called
  const char *linker = nullptr; ///< its path, for a linker
  size_t skipped = 1;           ///< so many words in front are no arguments
};

/// Finds the replacement of a program; `path` has room for a path.
Replacement replacementOf(const char *file, bool search, Words arguments,
                          bool linkers, char *path) {
  Replacement found{{}, file};
  if (std::strcmp(baseName(file), "passpilot") == 0 && arguments[1] &&
      (std::strcmp(arguments[1], "cc") == 0 ||
       std::strcmp(arguments[1], "c++") == 0)) {
    found.compiler.driver = arguments[1];
    found.skipped = 2;
    return found;
  }
  if (isLauncher(file) && arguments[1] && compilerOf(arguments[1]).driver)
    found.name = arguments[found.skipped++];
  found.compiler = compilerOf(found.name);
  const char *next = arguments[found.skipped];
  if (next && std::strncmp(next, "-cc1", 4) == 0)
    found.compiler.driver = nullptr;
  const bool links = linkers && isLinker(file);
  if (!found.compiler.driver && !links)
    return found;
  const char *program =
      search || found.name != file ? searched(found.name, path) : found.name;
  if (!program || !isProgram(program) || isScript(program))
    found.compiler.driver = nullptr;
  else if (!found.compiler.driver) {
    found.compiler.driver = "cc"; // whose first argument may be a linker
    found.linker = program;
  }
  return found;
}

/// Puts the words of our command into `made`. The texts have room for an
/// option with the folder, for one with the target, and for `more`.
void putWords(const Replacement &found, Words arguments, const char *command,
              const char *folder, const char *more, char *option, char *target,
              char *text, char **made) {
  *made++ = const_cast<char *>(command);
  *made++ = const_cast<char *>(found.compiler.driver);
  if (folder) { // in front, as a linker may follow
    std::snprintf(option, PATH_MAX, "--record=%s", folder);
    *made++ = option;
  }
  if (found.linker)
    *made++ = const_cast<char *>(found.linker);
  std::strcpy(text, found.linker ? "" : more);
  for (char *end; (end = std::strchr(text, '\n')); text = end + 1) {
    *end = '\0';
    *made++ = text;
  }
  if (found.compiler.target) {
    std::snprintf(target, NAME_MAX, "--target=%.*s", int(found.compiler.target),
                  baseName(found.name));
    *made++ = target;
  }
  arguments += found.skipped;
  while ((*made++ = *arguments++))
    ;
}

/// Calls `run` with the program that is to start in place of this one.
template <typename Run>
int start(const char *file, bool search, Words arguments, Words variables,
          Run run) {
  if (*kept.texts[1] && !valueOf(variables, kCommand)) {
    const char *others = valueOf(variables, kPreload);
    size_t length = Kept::kSize + (others ? std::strlen(others) : 0) + 2;
    size_t places = count(variables) + std::size(kept.texts) + 2;
    variables = restored(variables,
                         static_cast<char **>(alloca(places * sizeof(char *))),
                         static_cast<char *>(alloca(length)));
  }
  const Program given{file, arguments, variables};
  const char *command = valueOf(variables, kCommand);
  const char *folder = valueOf(variables, kFolder);
  if (!command || !file || !arguments || !arguments[0])
    return run(given, search);
  int before = errno;
  // as the build names it; make searches PATH itself
  if (const char *programs = valueOf(variables, kPrograms))
    note(programs,
         std::strchr(arguments[0], '/') ? arguments[0] : baseName(file));
  char path[PATH_MAX];
  const Replacement found =
      replacementOf(file, search, arguments, folder != nullptr, path);
  if (!found.compiler.driver) {
    errno = before;
    return run(given, search);
  }
  constexpr size_t kAdded = 5; // the command, its name, two words, the end
  const char *more = valueOf(variables, kWords);
  more = more ? more : "";
  size_t words = count(arguments) + kAdded;
  for (const char *end = more; (end = std::strchr(end, '\n')); ++end)
    ++words;
  char option[PATH_MAX], target[NAME_MAX];
  auto *text = static_cast<char *>(alloca(std::strlen(more) + 1));
  auto **made = static_cast<char **>(alloca(words * sizeof(char *)));
  putWords(found, arguments, command, folder, more, option, target, text, made);
  // What our compiler starts is not replaced again.
  auto **passed =
      static_cast<char **>(alloca((count(variables) + 1) * sizeof(char *)));
  size_t length = 0;
  for (Words each = variables; *each; ++each)
    if (std::strncmp(*each, kCommand, std::strlen(kCommand)) != 0)
      passed[length++] = *each;
  passed[length] = nullptr;
  errno = before;
  return run(Program{command, made, passed}, false);
}

decltype(execve) *nextExecve;
decltype(execvpe) *nextExecvpe;
decltype(posix_spawn) *nextSpawn, *nextSpawnp;

/// Finds the C library's functions while the program has one thread.
void findFunctions() {
  auto find = [](auto *&function, const char *name) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(
        dlsym(RTLD_NEXT, name));
  };
  find(nextExecve, "execve");
  find(nextExecvpe, "execvpe");
  find(nextSpawn, "posix_spawn");
  find(nextSpawnp, "posix_spawnp");
}

__attribute__((constructor)) void begin() {
  findFunctions();
  if (!valueOf(environ, kCommand))
    return;
  size_t used = 0;
  for (const char *name : {kPreload, kCommand, kFolder, kWords, kPrograms}) {
    const char *value = valueOf(environ, name);
    if (value && std::snprintf(kept.texts[used], Kept::kSize, "%s=%s", name,
                               value) >= int(Kept::kSize))
      *kept.texts[used] = '\0';
    ++used;
  }
}

int execute(const char *file, bool search, Words arguments, Words variables) {
  if (!nextExecve) // the constructor of another library calls
    findFunctions();
  return start(file, search, arguments, variables,
               [](const Program &program, bool searches) {
                 return (searches ? nextExecvpe : nextExecve)(
                     program.path, program.arguments, program.variables);
               });
}

int spawn(bool search, pid_t *pid, const char *file,
          const posix_spawn_file_actions_t *actions,
          const posix_spawnattr_t *attributes, Words arguments,
          Words variables) {
  if (!nextSpawn)
    findFunctions();
  return start(file, search, arguments, variables,
               [=](const Program &program, bool searches) {
                 return (searches ? nextSpawnp : nextSpawn)(
                     pid, program.path, actions, attributes, program.arguments,
                     program.variables);
               });
}

/// Collects the words of execl and its kin, and their variables.
#define PASSPILOT_LIST(first, search, takesVariables)                          \
  va_list list;                                                                \
  va_start(list, first);                                                       \
  size_t number = 1;                                                           \
  while (va_arg(list, char *))                                                 \
    ++number;                                                                  \
  va_end(list);                                                                \
  auto **words = static_cast<char **>(alloca((number + 1) * sizeof(char *)));  \
  words[0] = const_cast<char *>(first);                                        \
  va_start(list, first);                                                       \
  for (size_t i = 1; i <= number; ++i)                                         \
    words[i] = va_arg(list, char *);                                           \
  Words variables = (takesVariables) ? va_arg(list, char **) : environ;        \
  va_end(list);                                                                \
  return execute(file, search, words, variables)

} // namespace

#define PASSPILOT_EXPORT extern "C" __attribute__((visibility("default")))

PASSPILOT_EXPORT int execve(const char *file, Words arguments,
                            Words variables) noexcept {
  return execute(file, false, arguments, variables);
}

PASSPILOT_EXPORT int execv(const char *file, Words arguments) noexcept {
  return execute(file, false, arguments, environ);
}

PASSPILOT_EXPORT int execvp(const char *file, Words arguments) noexcept {
  return execute(file, true, arguments, environ);
}

PASSPILOT_EXPORT int execvpe(const char *file, Words arguments,
                             Words variables) noexcept {
  return execute(file, true, arguments, variables);
}

PASSPILOT_EXPORT int execl(const char *file, const char *first, ...) noexcept {
  PASSPILOT_LIST(first, false, false);
}

PASSPILOT_EXPORT int execlp(const char *file, const char *first, ...) noexcept {
  PASSPILOT_LIST(first, true, false);
}

PASSPILOT_EXPORT int execle(const char *file, const char *first, ...) noexcept {
  PASSPILOT_LIST(first, false, true);
}

PASSPILOT_EXPORT int posix_spawn(pid_t *pid, const char *file,
                                 const posix_spawn_file_actions_t *actions,
                                 const posix_spawnattr_t *attributes,
                                 Words arguments, Words variables) {
  return spawn(false, pid, file, actions, attributes, arguments, variables);
}

PASSPILOT_EXPORT int posix_spawnp(pid_t *pid, const char *file,
                                  const posix_spawn_file_actions_t *actions,
                                  const posix_spawnattr_t *attributes,
                                  Words arguments, Words variables) {
  return spawn(true, pid, file, actions, attributes, arguments, variables);
}
