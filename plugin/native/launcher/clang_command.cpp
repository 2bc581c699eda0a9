// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "clang_command.h"

#include "../runtime/build_process.h"
#include "launcher_tables.h"

#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <string_view>
#include <utility>

namespace passpilot {
namespace {

using std::string;
using std::string_view;

/// Thrown where Python has to go on.
struct NeedsPython {};

void only(bool simple) {
  if (!simple)
    throw NeedsPython();
}

template <typename Table> bool holds(const Table &table, string_view word) {
  return std::find(std::begin(table), std::end(table), word) != std::end(table);
}

bool startsWith(string_view text, string_view start) {
  return text.substr(0, start.size()) == start;
}

string_view baseName(string_view path) {
  return path.substr(path.rfind('/') + 1);
}

bool isKind(const string &path, mode_t kind) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && (status.st_mode & S_IFMT) == kind;
}

/// The program's path, searched as a shell does; empty if there is none.
string findProgram(string_view name) {
  const char *variable = std::getenv("PATH");
  only(variable);
  string_view path = variable;
  while (true) {
    size_t end = path.find(':');
    string candidate(path.substr(0, end));
    if (!candidate.empty() && candidate.back() != '/')
      candidate += '/';
    candidate += name;
    if (access(candidate.c_str(), X_OK) == 0 && !isKind(candidate, S_IFDIR))
      return candidate;
    if (end == string_view::npos)
      return "";
    path.remove_prefix(end + 1);
  }
}

string realPath(const string &path) {
  char resolved[PATH_MAX];
  only(realpath(path.c_str(), resolved));
  return resolved;
}

/// Whether a word is another one with at most two letters more, less or wrong.
bool isNearly(string_view word, string_view other) {
  std::vector<size_t> costs(other.size() + 1);
  for (size_t i = 0; i < costs.size(); ++i)
    costs[i] = i;
  for (size_t i = 0; i < word.size(); ++i) {
    size_t diagonal = std::exchange(costs[0], i + 1);
    for (size_t k = 0; k < other.size(); ++k) {
      size_t changed = diagonal + (word[i] != other[k]);
      diagonal = costs[k + 1];
      costs[k + 1] = std::min({changed, diagonal + 1, costs[k] + 1});
    }
  }
  return costs.back() <= 2;
}

/// passpilot's options: from the command line, then from the environment;
/// `rest` has clang's arguments.
class Options {
public:
  explicit Options(const std::vector<string> &arguments) {
    for (const string &argument : arguments) // clang reads it anywhere
      only(!startsWith(argument, "@"));
    for (size_t i = 0; i < arguments.size(); ++i) {
      const string &argument = arguments[i];
      only(argument != "--");
      if (startsWith(argument, "--") && isOurs(argument))
        continue;
      rest.push_back(argument);
      if (holds(kWithValue, argument) && i + 1 < arguments.size())
        rest.push_back(arguments[++i]);
    }
    for (const OptionRow &row : kOptions) {
      const char *text = std::getenv(row.variable);
      if (text && *text && !given_.count(row.name))
        given_[row.name] = text;
    }
    for (char **variable = environ; *variable; ++variable)
      only(!isMisspelt(
          string_view(*variable).substr(0, std::strcspn(*variable, "="))));
    for (const char *variable : kFlagVariables) {
      const char *text = std::getenv(variable);
      only(!text || !*text || string_view(text) == "0");
    }
    for (const OptionRow &row : kOptions)
      if (auto found = given_.find(row.name); found != given_.end())
        only(isSimple(row, found->second));
  }

  /// Whether a compilation needs the plugin.
  bool asks(bool unoptimized) const {
    if (given_.count("unwind"))
      return true;
    bool points = false, advised = false;
    for (const OptionRow &row : kOptions)
      if (auto found = given_.find(row.name);
          row.kind == Kind::runner && found != given_.end()) {
        points = true;
        advised |= found->second != "default";
      } else if ((row.kind == Kind::file || row.kind == Kind::policy) &&
                 found != given_.end()) {
        advised = true;
      }
    return !unoptimized && (advised || (points && given_.count("log")));
  }

  /// Leaves wrong names to Python, and a log that nobody would write, where no
  /// plugin sees them.
  void checkNames() const {
    bool named = given_.count("policy") || given_.count("decisions");
    for (const OptionRow &row : kOptions)
      if (auto found = given_.find(row.name); found != given_.end()) {
        string_view name = string_view(found->second);
        name = name.substr(0, name.find_first_of(":?"));
        named |= row.kind == Kind::runner;
        if (row.kind == Kind::policy)
          only(name[0] != '@' || holds(kPolicies, name.substr(1)));
        if (row.kind == Kind::runner)
          only(holds(kSchemes, name));
      }
    only(!given_.count("log") || (named && !given_.count("policy")));
  }

  /// Python says once in a build that advice meets another level than its own,
  /// or none; in the rest of the build, the note of it is new.
  void checkLevel(const string &level, bool isUnoptimized) const {
    auto policy = given_.find("policy");
    if (level == "s" || level == "z" ||
        (policy == given_.end() && !(isUnoptimized && isAdvised())))
      return;
    string name = policy == given_.end() ? "" : policy->second;
    string build = buildHere();
    only(!build.empty() && name.find('/') == string::npos);
    string path = saidFile(build + "-" + name.substr(startsWith(name, "@")) +
                           "-O" + (level.empty() ? "1" : level));
    struct stat status;
    only(!path.empty() && stat(path.c_str(), &status) == 0 &&
         std::time(nullptr) - status.st_mtime < kSaidPause);
    utimes(path.c_str(), nullptr);
  }

  void toEnvironment() const {
    for (const OptionRow &row : kOptions)
      if (auto found = given_.find(row.name); found != given_.end())
        setenv(row.variable, found->second.c_str(), 1);
  }

  std::vector<string> rest;

private:
  /// Whether a decision file or a runner decides.
  bool isAdvised() const {
    return std::any_of(
        std::begin(kOptions), std::end(kOptions), [&](const OptionRow &row) {
          auto found = given_.find(row.name);
          return found != given_.end() && found->second != "default" &&
                 (row.kind == Kind::runner || found->first == "decisions");
        });
  }

  /// Whether a variable has nearly the name of an option.
  static bool isMisspelt(string_view variable) {
    return startsWith(variable, "PASSPILOT_") && !holds(kVariables, variable) &&
           std::any_of(
               std::begin(kVariables), std::end(kVariables),
               [&](string_view known) { return isNearly(variable, known); });
  }

  bool isOurs(const string &argument) {
    string_view option = string_view(argument).substr(2);
    size_t equals = option.find('=');
    string_view name = option.substr(0, equals);
    only(!holds(kFlags, option));
    for (const OptionRow &row : kOptions) {
      if (name != row.name)
        continue;
      only(equals != string_view::npos && equals + 1 < option.size());
      only(!row.several || !given_.count(row.name));
      given_[row.name] = option.substr(equals + 1);
      return true;
    }
    only(!holds(kOfOthers, name));
    for (const OptionRow &row : kOptions)
      only(name.size() <= 2 ||
           (!startsWith(row.name, name) && !isNearly(name, row.name)));
    return false;
  }

  static bool isSimple(const OptionRow &row, const string &text) {
    switch (row.kind) {
    case Kind::runner:
      return isSimpleRunner(text);
    case Kind::file:
      return isKind(text, S_IFREG);
    case Kind::policy: // Python reads keys such as ?tries=2
      return text.find('?') == string::npos &&
             (text[0] == '@' ? isPolicyName(text)
                             : isKind(text + "/policy.toml", S_IFREG));
    case Kind::choice: {
      string among = string("|") + row.choices + "|";
      return text.find('|') == string::npos &&
             among.find("|" + text + "|") != string::npos;
    }
    case Kind::seconds:
    case Kind::number:
      // Python's float() takes more, which Python decides.
      return text.size() < 16 &&
             text.find_first_not_of("0123456789.") == string::npos &&
             text[0] != '.' && std::count(text.begin(), text.end(), '.') <= 1 &&
             (row.kind == Kind::number ||
              std::strtod(text.c_str(), nullptr) > 0);
    case Kind::folder: // of logs, which is there
      return text.find_first_of("=;") == string::npos && isKind(text, S_IFDIR);
    case Kind::other:
      break;
    }
    return false;
  }

  static bool isPolicyName(const string &text) {
    return text.size() > 1 && text[1] >= 'a' && text[1] <= 'z' &&
           text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-_",
                                  1) == string::npos;
  }

  static bool isSimpleRunner(const string &text) {
    string_view spec = string_view(text).substr(0, text.find('?'));
    size_t colon = spec.find(':');
    if (!holds(kFiles, spec.substr(0, colon)))
      return true;
    string_view target =
        colon == string_view::npos ? "" : spec.substr(colon + 1);
    if (startsWith(spec, "python")) {
      size_t end = target.rfind(':');
      target = target.substr(0, end == string_view::npos ? 0 : end);
      if (target.size() < 3 || target.substr(target.size() - 3) != ".py")
        return true;
    }
    return isKind(string(target), S_IFREG);
  }

  std::map<string_view, string> given_;
};

/// The work that a command line gives clang.
struct Work {
  explicit Work(const std::vector<string> &arguments) {
    bool input = false, noCode = false, noLink = false, unknown = false,
         lto = false, lld = false, named = false;
    for (size_t i = 0; i < arguments.size(); ++i) {
      string_view argument = arguments[i];
      const bool isInput = !startsWith(argument, "-") || argument == "-";
      input |= isInput;
      compiles |= isInput && (named || isCompiled(argument));
      only(!isInput || (argument.find(".h") == string_view::npos &&
                        argument.find(".H") == string_view::npos));
      noCode |= holds(kNoCode, argument) || startsWith(argument, "-print-") ||
                startsWith(argument, "--print-");
      noLink |= holds(kNoLink, argument);
      for (string_view part : kForParts)
        unknown |= startsWith(argument, part);
      if (startsWith(argument, "--optimize"))
        only(startsWith(argument, "--optimize=") &&
             argument.substr(11, 2) != "-O"),
            level = argument.substr(11);
      else if (startsWith(argument, "-O") && !startsWith(argument, "-ObjC"))
        level = argument.substr(2);
      if (startsWith(argument, "-flto") &&
          (argument.size() == 5 || argument[5] == '='))
        lto = true;
      else if (argument == "-fno-lto")
        lto = false;
      else if (startsWith(argument, "-fuse-ld=") ||
               startsWith(argument, "--ld-path=")) {
        string_view linker = baseName(argument.substr(argument.find('=') + 1));
        lld = startsWith(linker, "lld") || startsWith(linker, "ld.lld");
      }
      named |= argument == "-x";
      if (holds(kWithValue, argument))
        ++i;
      only(argument != "-x" || i >= arguments.size() ||
           arguments[i].find("-header") == string::npos);
    }
    generatesCode = input && !noCode;
    links = generatesCode && !noLink;
    isUnoptimized = level == "0" && !unknown && !lto && !lld;
  }

  bool generatesCode, links, isUnoptimized, compiles = false;
  string_view level = "0";

private:
  static bool isCompiled(string_view input) {
    return std::any_of(std::begin(kCompiled), std::end(kCompiled),
                       [&](string_view end) {
                         return input.size() >= end.size() &&
                                input.substr(input.size() - end.size()) == end;
                       });
  }
};

/// Whether the first argument is the compiler, as compiler launchers get it.
bool namesCompiler(const string &argument) {
  string_view plain = baseName(argument);
  plain = plain.substr(0, plain.find_last_not_of("0123456789.") + 1);
  plain = plain.substr(0, plain.find_last_not_of('-') + 1);
  size_t dash = plain.rfind('-');
  if (!holds(kCompilers,
             dash == string_view::npos ? plain : plain.substr(dash + 1)))
    return false;
  return argument.find('/') != string::npos
             ? access(argument.c_str(), X_OK) == 0
             : !findProgram(argument).empty();
}

/// A hash of folder and arguments for the names of logs.
string unit(const std::vector<string> &arguments) {
  char folder[PATH_MAX];
  only(getcwd(folder, sizeof folder));
  string text = folder;
  for (const string &argument : arguments)
    text += "\n" + argument;
  constexpr unsigned long long kPrime = 18446744073709551557ULL; // 2**64 - 59
  unsigned long long rest = 0;
  for (unsigned char byte : text)
    rest = static_cast<unsigned long long>(
        (static_cast<unsigned __int128>(rest) * 256 + byte) % kPrime);
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", rest);
  return digits;
}

void becomeClang(bool cxx, const std::vector<string> &given,
                 const string &plugin) {
  Options options(given);
  std::vector<string> &arguments = options.rest;
  string clang = cxx ? kClangxx : kClang;
  string compiler = findProgram(clang);
  only(!compiler.empty());
  if (!arguments.empty() && namesCompiler(arguments[0])) {
    clang = arguments[0];
    only(realPath(clang.find('/') != string::npos
                      ? clang
                      : findProgram(clang)) == realPath(compiler));
    arguments.erase(arguments.begin());
  }
  Work work(arguments);
  if (work.generatesCode && work.compiles)
    options.checkLevel(string(work.level), work.isUnoptimized);
  std::vector<string> words = {clang};
  if (!work.generatesCode || !options.asks(work.isUnoptimized)) {
    options.checkNames();
  } else {
    only(!work.links);
    setenv("PASSPILOT_UNIT", unit(arguments).c_str(), 1);
    words.insert(words.end(),
                 {"--start-no-unused-arguments", "-fpass-plugin=" + plugin,
                  "--end-no-unused-arguments"});
  }
  words.insert(words.end(), arguments.begin(), arguments.end());
  options.toEnvironment();
  std::vector<char *> pointers;
  pointers.reserve(words.size() + 1);
  for (string &word : words)
    pointers.push_back(word.data());
  pointers.push_back(nullptr);
  execv(compiler.c_str(), pointers.data());
}

} // namespace

void tryToBecomeClang(bool cxx, const std::vector<string> &arguments,
                      const string &plugin) {
  try {
    becomeClang(cxx, arguments, plugin);
  } catch (const NeedsPython &) {
    return; // Python goes on, and says what is wrong
  }
}

} // namespace passpilot
