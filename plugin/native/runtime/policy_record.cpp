// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "policy_record.h"

#include "hash.h"
#include "input_file.h"
#include "permitted.h"
#include "text.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <sys/stat.h>
#include <unistd.h>

namespace passpilot {

namespace {

constexpr std::string_view Head = "passpilot policy 1";

/// The name or the folder that a spec has before its query.
std::string_view headOf(std::string_view Spec) {
  return Spec.substr(0, Spec.find('?'));
}

/// Whether \p Runner is of a kind that policies have: no code of theirs.
bool isData(std::string_view Runner) {
  const std::string_view Scheme = Runner.substr(0, Runner.find(':'));
  return Runner == "default" || Scheme == "const" || Scheme == "onnx" ||
         Scheme == "aot";
}

/// Reads a line of a recipe; returns false if it is none.
bool readRecipe(std::string_view Kind, std::string_view Rest, PolicyRecipe &R) {
  if (Kind == "runner") {
    const std::string Point(take(Rest, ' '));
    return isData(Rest) && R.Runners.emplace(Point, Rest).second;
  }
  if (Kind == "pipeline") {
    const bool Good = R.Pipeline.empty() && !Rest.empty();
    R.Pipeline = Rest;
    return Good;
  }
  if (Kind == "aim") {
    R.Aim = Rest;
    return !Rest.empty();
  }
  const bool Everywhere = Kind == "option";
  if (!Everywhere && Kind != "option-for")
    return false;
  const std::string_view Target = Everywhere ? "" : take(Rest, ' ');
  if (!isPermittedOption(Rest) || !expectedValue(Rest).empty())
    return false;
  if (Everywhere)
    R.Options.emplace_back(Rest);
  else
    R.TargetOptions.emplace_back(Target, Rest);
  return true;
}

/// Reads a line; returns false if it is none.
bool readLine(std::string_view Line, PolicyRecord &P) {
  const std::string_view Kind = take(Line, ' ');
  if (Kind == "source")
    return true;
  if (Kind == "policy")
    P.Name = Line;
  else if (Kind == "folder")
    P.Folder = Line;
  else if (Kind == "level")
    P.Level = Line;
  else if (Kind == "target")
    P.Targets.emplace_back(Line);
  else if (Kind == "recipe")
    P.Recipes.emplace_back();
  else
    return !P.Recipes.empty() && readRecipe(Kind, Line, P.Recipes.back());
  return true;
}

/// Whether a file still has the size and the time in a line "source ...".
bool isUnchanged(std::string_view Line) {
  const auto Size = number<int64_t>(take(Line, ' '));
  const auto Time = number<int64_t>(take(Line, ' '));
  struct stat Now{};
  return Size && Time && stat(std::string(Line).c_str(), &Now) == 0 &&
         Now.st_size == *Size &&
         Now.st_mtim.tv_sec * 1000000000 + Now.st_mtim.tv_nsec == *Time;
}

bool isFresh(std::string_view Text) {
  while (!Text.empty()) {
    std::string_view Line = take(Text, '\n');
    if (take(Line, ' ') == "source" && !isUnchanged(Line))
      return false;
  }
  return true;
}

std::string variable(const char *Name) {
  const char *Text = std::getenv(Name);
  return Text ? Text : "";
}

/// The policy that \p Spec names, as its record's key has it.
std::string identity(std::string_view Spec) {
  std::string Policy(headOf(Spec));
  if (namesPolicy(Policy))
    return Policy;
  char *Real = realpath(Policy.c_str(), nullptr);
  if (!Real)
    return "";
  Policy = Real;
  std::free(Real);
  return Policy;
}

std::string hashed(std::string_view Text) {
  char Digits[17];
  std::snprintf(Digits, sizeof Digits, "%016llx",
                static_cast<unsigned long long>(fnv1a64(Text)));
  return Digits;
}

/// The user's own folder among the temporary files; empty if it is somebody
/// else's, or open to others.
std::string ownTemporary() {
  std::string Folder = variable("TMPDIR");
  if (Folder.empty() || Folder[0] != '/')
    Folder = "/tmp";
  Folder += "/passpilot-" + std::to_string(geteuid());
  struct stat Status{};
  const bool Own = lstat(Folder.c_str(), &Status) == 0 &&
                   S_ISDIR(Status.st_mode) && Status.st_uid == geteuid() &&
                   !(Status.st_mode & 077);
  return Own ? Folder : "";
}

std::vector<std::string> cacheFolders() {
  std::vector<std::string> Folders;
  const std::string Cache = variable("XDG_CACHE_HOME"), Home = variable("HOME");
  if (!Cache.empty() && Cache[0] == '/')
    Folders.push_back(Cache + "/passpilot/policies");
  else if (!Home.empty())
    Folders.push_back(Home + "/.cache/passpilot/policies");
  if (const std::string Own = ownTemporary(); !Own.empty())
    Folders.push_back(Own + "/policies");
  return Folders;
}

std::string pointsOf(const PolicyRecipe &R) {
  std::vector<std::string_view> Points;
  Points.reserve(R.Runners.size());
  for (const auto &[Point, Runner] : R.Runners)
    Points.push_back(Point);
  return Points.empty() ? "no point, only passes and options" : joined(Points);
}

} // namespace

std::vector<std::string>
PolicyRecipe::optionsFor(std::string_view Triple) const {
  const auto NameOf = [](std::string_view Text) {
    return Text.substr(0, Text.find('='));
  };
  std::vector<std::string> All = Options;
  for (const auto &[Target, Option] : TargetOptions)
    if (Triple.substr(0, Target.size()) == Target) {
      All.erase(std::remove_if(All.begin(), All.end(),
                               [&](const std::string &Other) {
                                 return NameOf(Other) == NameOf(Option);
                               }),
                All.end());
      All.push_back(Option);
    }
  return All;
}

bool namesPolicy(std::string_view Spec) { return Spec.substr(0, 1) == "@"; }

std::optional<PolicyRecord> PolicyRecord::parse(std::string_view Text) {
  PolicyRecord P;
  if (take(Text, '\n') != Head)
    return std::nullopt;
  while (!Text.empty())
    if (!readLine(take(Text, '\n'), P))
      return std::nullopt;
  return P.Name.empty() || P.Recipes.empty() ? std::nullopt : std::optional(P);
}

std::vector<std::string> PolicyRecord::places(std::string_view Spec,
                                              const std::string &Plugin) {
  const std::string Policy = identity(Spec);
  if (Policy.empty())
    return {};
  // Python searches the folders of PYTHONPATH for policies.
  const std::string Key =
      hashed(Plugin + "\n" + variable("PYTHONPATH") + "\n" + Policy);
  std::vector<std::string> Paths;
  for (const std::string &Folder : cacheFolders())
    Paths.push_back(Folder + "/" + Key + ".policy");
  return Paths;
}

std::optional<PolicyRecord> PolicyRecord::find(std::string_view Spec,
                                               const std::string &Plugin) {
  for (const std::string &Path : places(Spec, Plugin)) {
    std::string Why;
    const auto Text = readInput(Path, Why);
    if (Text && isFresh(*Text))
      if (auto P = parse(*Text))
        return P;
  }
  return std::nullopt;
}

std::string PolicyRecord::who() const {
  return "policy " + Name + " at " + Folder;
}

const PolicyRecipe *PolicyRecord::recipe(std::string_view Spec,
                                         std::string &Error) const {
  std::string_view Query = Spec;
  take(Query, '?');
  const std::string_view Whole = Query;
  const PolicyRecipe *Chosen = &Recipes[0];
  for (bool First = true; !Query.empty(); First = false) {
    const std::string_view Part = take(Query, '&');
    std::string_view Value = Part;
    const std::string_view Key = take(Value, '=');
    if (Key == "tries") {
      Error = who() + ": expected `passpilot cc` for tries, got " +
              std::string(Part) + " elsewhere; choose one recipe by recipe=N";
      return nullptr;
    }
    if (!First) {
      Error = who() + ": expected one of recipe=N and aim=NAME, got '" +
              std::string(Whole) + "'";
      return nullptr;
    }
    const auto Found = chosenBy(Key, Value);
    if (Found == Recipes.end()) {
      Error = who() + ": expected recipe=N with N of 1 to " +
              std::to_string(Recipes.size()) + aims() + ", got '" +
              std::string(Part) + "'";
      return nullptr;
    }
    Chosen = &*Found;
  }
  return Chosen;
}

std::vector<PolicyRecipe>::const_iterator
PolicyRecord::chosenBy(std::string_view Key, std::string_view Value) const {
  if (Key == "aim" && !Value.empty())
    return std::find_if(Recipes.begin(), Recipes.end(),
                        [&](const PolicyRecipe &R) { return R.Aim == Value; });
  const auto Number = number<size_t>(Value);
  const bool Is =
      Key == "recipe" && Number && *Number && *Number <= Recipes.size();
  return Is ? Recipes.begin() + static_cast<ptrdiff_t>(*Number - 1)
            : Recipes.end();
}

std::string PolicyRecord::aims() const {
  std::string Text;
  for (const PolicyRecipe &R : Recipes)
    if (!R.Aim.empty())
      Text += ", or aim=" + R.Aim;
  return Text;
}

std::string PolicyRecord::runner(std::string_view Spec,
                                 const std::string &Point,
                                 std::string &Error) const {
  const PolicyRecipe *R = recipe(Spec, Error);
  if (!R)
    return "";
  const auto Found = R->Runners.find(Point);
  if (Found != R->Runners.end())
    return Found->second;
  Error = who() + ": expected a policy for the decision point " + Point +
          ", got one for " + pointsOf(*R) +
          "; give the whole policy (--policy), or give " + Point +
          " another one";
  return "";
}

std::string PolicyRecord::refusal(std::string_view Triple) const {
  const bool Fits =
      Targets.empty() || Triple.empty() ||
      std::any_of(Targets.begin(), Targets.end(), [&](const std::string &T) {
        return Triple.substr(0, T.size()) == T &&
               (Triple.size() == T.size() || Triple[T.size()] == '-');
      });
  if (Fits)
    return "";
  return who() + ": expected a module for " + joined(Targets, " or ") +
         ", got one for " + std::string(Triple) +
         "; compile it without the policy, or with one for its target";
}

} // namespace passpilot
