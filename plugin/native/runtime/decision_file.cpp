// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "decision_file.h"

#include "decision_log.h"
#include "input_file.h"
#include "text.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace passpilot {

namespace {

constexpr unsigned MaxUnroll = 64;
constexpr std::string_view Head = "passpilot decisions 1";

/// A name whose %XX are characters; nothing if it is not well-formed.
std::optional<std::string> unescaped(std::string_view Text) {
  std::string Name;
  for (size_t I = 0; I < Text.size(); ++I) {
    if (Text[I] != '%') {
      Name += Text[I];
      continue;
    }
    const auto Code = number<unsigned>(Text.substr(I + 1, 2), 16);
    if (!Code || I + 2 >= Text.size())
      return std::nullopt;
    Name += static_cast<char>(*Code);
    I += 2;
  }
  return Name.empty() ? std::nullopt : std::optional(Name);
}

std::optional<bool> answer(std::string_view Word) {
  if (Word == "yes")
    return true;
  return Word == "no" ? std::optional(false) : std::nullopt;
}

/// Reads a name and the words about this function; false if they are wrong.
bool readFunction(std::string_view Line, UnitDecisions &U) {
  const auto Name = unescaped(take(Line, ' '));
  if (!Name || Line.empty())
    return false;
  FunctionDecisions D;
  while (!Line.empty())
    if (!D.add(take(Line, ' ')))
      return false;
  return U.Functions.emplace(*Name, D).second;
}

/// Reads the line of a unit's decision; returns false if it is none.
bool readDecision(std::string_view Line, UnitDecisions &U) {
  const std::string_view Kind = take(Line, ' ');
  if (Kind == "pipeline") {
    const bool Good = U.Pipeline.empty() && !Line.empty();
    U.Pipeline = Line;
    return Good;
  }
  if (Kind == "inline") {
    const auto Number = number<unsigned>(take(Line, ' '));
    const auto Yes = answer(take(Line, ' '));
    const auto Caller = unescaped(take(Line, ' '));
    const auto Callee = unescaped(take(Line, ' '));
    const auto Bytes = Line.empty() ? 0 : number<unsigned>(Line);
    if (!Number || !*Number || !Yes || !Caller || !Callee || !Bytes)
      return false;
    return U.Inline[{*Caller, *Callee}]
        .emplace(*Number, InlineDecision{*Yes, *Bytes})
        .second;
  }
  if (Kind == "searched")
    return true;
  if (Kind == "option") {
    U.Options.emplace_back(Line);
    return !Line.empty();
  }
  return Kind == "function" && readFunction(Line, U);
}

/// The number of path components at the end that are equal.
size_t alike(std::string_view A, std::string_view B) {
  size_t Equal = 0;
  while (true) {
    const size_t I = A.rfind('/'), J = B.rfind('/');
    if (A.substr(I + 1) != B.substr(J + 1))
      return Equal;
    ++Equal;
    if (I == std::string_view::npos || J == std::string_view::npos)
      return Equal;
    A = A.substr(0, I);
    B = B.substr(0, J);
  }
}

class DecisionsRunner final : public Runner {
public:
  DecisionsRunner(TensorSpec Output, TensorSpec Default, DecisionFile F)
      : Runner({std::move(Default)}, std::move(Output)), File(std::move(F)) {}

  void begin(std::string_view Module) override {
    Unit = File.find(Module);
    Questions.clear();
    Matched = MatchedBytes = 0;
  }
  std::string unused() const override {
    unsigned All = 0, Bytes = 0;
    if (Unit)
      for (const auto &[Call, Decisions] : Unit->Inline)
        for (const auto &[Number, D] : Decisions) {
          ++All;
          Bytes += D.Bytes;
        }
    if (Matched == All)
      return "";
    const std::string Gone = std::to_string(All - Matched);
    std::string Text = "decisions for " + Unit->Name + ": " + Gone + " of " +
                       std::to_string(All) + " no longer match a call";
    if (Bytes)
      Text += ", worth " + std::to_string(Bytes - MatchedBytes) + " of " +
              std::to_string(Bytes) + " bytes";
    return Text + "; repair the file with `passpilot tune --update`";
  }
  bool wantsPlace() const override { return true; }
  void locate(const DecisionPlace &P) override {
    Found = nullptr;
    if (!Unit)
      return;
    Key.first = P.Caller;
    Key.second = P.Callee;
    const auto Call = Unit->Inline.find(Key);
    if (Call == Unit->Inline.end())
      return;
    const auto Decision = Call->second.find(++Questions[&Call->second]);
    if (Decision == Call->second.end())
      return;
    Found = &Decision->second;
    ++Matched;
    MatchedBytes += Found->Bytes;
  }
  bool evaluate(const void *const *In, void *Out) override {
    Advice A{Found ? Found->Yes : *static_cast<const int64_t *>(In[0])};
    std::memcpy(Out, &A, sizeof A);
    return true;
  }

private:
  const DecisionFile File;
  const UnitDecisions *Unit = nullptr;
  UnitDecisions::Call Key; // keeps its memory from question to question
  std::map<const void *, unsigned> Questions; ///< by the decisions of a call
  const InlineDecision *Found = nullptr;
  unsigned Matched = 0, MatchedBytes = 0; ///< in this compilation
};

} // namespace

bool FunctionDecisions::add(std::string_view Word) {
  if (Word == "nooutline")
    return !std::exchange(NoOutline, true);
  if (Word == "minsize" || Word == "optsize" || Word == "speed")
    return std::exchange(Size, Word).empty();
  if (take(Word, '=') != "unroll")
    return false;
  const auto Factor = number<unsigned>(Word);
  return Factor && *Factor >= 1 && *Factor <= MaxUnroll &&
         !std::exchange(Unroll, *Factor);
}

const FunctionDecisions *UnitDecisions::function(std::string_view Which) const {
  auto Found = Functions.find(Which);
  if (Found == Functions.end())
    Found = Functions.find("*");
  return Found == Functions.end() ? nullptr : &Found->second;
}

std::optional<DecisionFile> DecisionFile::read(const std::string &Path,
                                               std::string &Error) {
  std::string Why;
  const auto Text = readInput(Path, Why);
  if (!Text) {
    Error =
        "decisions " + Path + ": expected a file that can be read, got: " + Why;
    return std::nullopt;
  }
  DecisionFile F;
  std::string_view Rest = *Text;
  for (unsigned Number = 1; !Rest.empty(); ++Number) {
    std::string_view Line = Rest.substr(0, Rest.find('\n'));
    Rest.remove_prefix(std::min(Rest.size(), Line.size() + 1));
    bool Good = true;
    if (Number == 1) {
      Good = Line == Head;
    } else if (Line.empty() || Line[0] == '#') {
      continue;
    } else if (Line.substr(0, 5) == "unit ") {
      F.Units.emplace_back().Name = Line.substr(5);
    } else {
      Good = !F.Units.empty() && readDecision(Line, F.Units.back());
    }
    if (!Good) {
      Error = "decisions " + Path + ":" + std::to_string(Number) +
              ": expected " +
              (Number == 1 ? "\"" + std::string(Head) + "\"" : "a decision") +
              ", got \"" + std::string(Line.substr(0, 80)) +
              "\"; make the file with `passpilot tune`";
      return std::nullopt;
    }
  }
  return F;
}

const UnitDecisions *DecisionFile::find(std::string_view Source) const {
  const UnitDecisions *Found = nullptr;
  size_t Best = 0;
  bool Several = false;
  for (const UnitDecisions &U : Units) {
    if (U.Name == Source)
      return &U;
    const size_t Alike = alike(U.Name, Source);
    Several = Alike > Best ? false : Several || (Alike && Alike == Best);
    if (Alike > Best) {
      Best = Alike;
      Found = &U;
    }
  }
  return Several ? nullptr : Found;
}

std::unique_ptr<Runner> makeDecisionsRunner(const std::string &Path,
                                            TensorSpec Output,
                                            TensorSpec Default,
                                            std::string &Error) {
  auto F = DecisionFile::read(Path, Error);
  return F ? std::make_unique<DecisionsRunner>(
                 std::move(Output), std::move(Default), std::move(*F))
           : nullptr;
}

} // namespace passpilot
