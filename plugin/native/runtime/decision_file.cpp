// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "decision_file.h"

#include "decision_log.h"
#include "input_file.h"
#include "permitted.h"
#include "text.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace passpilot {

namespace {

constexpr unsigned MaxUnroll = 64;
constexpr std::string_view Whole = "ld-temp.o"; ///< lld's name of a program
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

/// A number from 1 on, without zeros before it; nothing if it is none.
std::optional<unsigned> count(std::string_view Digits) {
  const auto Number = number<unsigned>(Digits);
  return Number && Digits[0] != '0' ? Number : std::nullopt;
}

/// The words of a line between single blanks; none if one is empty.
std::vector<std::string_view> wordsOf(std::string_view Line) {
  std::vector<std::string_view> Words;
  for (size_t Begin = 0, End = 0; End < Line.size(); Begin = End + 1) {
    End = std::min(Line.find(' ', Begin), Line.size());
    if (Begin == End)
      return {};
    Words.push_back(Line.substr(Begin, End - Begin));
    if (End + 1 == Line.size())
      return {};
  }
  return Words;
}

/// What is wrong with a line.
struct Mistake {
  std::string Expected = "a decision", Got;
  const char *Hint = "make the file with `passpilot tune`";
};

constexpr const char *DataHint =
    "decision files are data: give it to the compiler yourself";

/// What to write instead of a wrong line, by its first word.
constexpr std::pair<std::string_view, const char *> Forms[] = {
    {"pipeline", "write pipeline PASSES, once for a unit"},
    {"option", "write option NAME or option NAME=VALUE"},
    {"level", "write level O0, O1, O2, O3, Os or Oz"},
    {"inline",
     "write inline NUMBER yes|no CALLER CALLEE BYTES, each NUMBER of a "
     "CALLER and CALLEE once"},
    {"function",
     "write function NAME WORD, each NAME once; WORD is one or more "
     "of minsize|optsize|speed, unroll=N, vectorize=N, nooutline, "
     "unwind=MODE"},
};

using Words = std::vector<std::string_view>;

/// Reads the words about a function; false if they are wrong.
bool readFunction(const Words &W, UnitDecisions &U) {
  const auto Name = W.size() > 2 ? unescaped(W[1]) : std::nullopt;
  if (!Name)
    return false;
  FunctionDecisions D;
  for (size_t I = 2; I < W.size(); ++I) {
    if (!D.add(W[I]))
      return false;
    D.Words.emplace_back(W[I]);
  }
  return U.Functions.emplace(*Name, std::move(D)).second;
}

/// Reads an answer to the inliner; false if it is none.
bool readInline(const Words &W, UnitDecisions &U) {
  if (W.size() != 5 && W.size() != 6)
    return false;
  const auto Number = count(W[1]);
  const auto Yes = answer(W[2]);
  const auto Caller = unescaped(W[3]), Callee = unescaped(W[4]);
  const auto Bytes = W.size() == 5 ? 0 : number<unsigned>(W[5]);
  if (!Number || !Yes || !Caller || !Callee || !Bytes)
    return false;
  return U.Inline[{*Caller, *Callee}]
      .emplace(*Number, InlineDecision{*Yes, *Bytes})
      .second;
}

/// Reads the line of a unit's decision; returns what is wrong with it.
std::optional<Mistake> readDecision(std::string_view Line, UnitDecisions &U) {
  const std::string_view Kind = Line.substr(0, Line.find(' '));
  const std::string_view Rest =
      Line.substr(std::min(Line.size(), Kind.size() + 1));
  const Words W = wordsOf(Line);
  bool Good = false;
  if (Kind == "pipeline") {
    if (const auto Others = otherPasses(Rest); !Others.empty())
      return Mistake{ExpectedPass, Others[0], DataHint};
    Good = U.Pipeline.empty() && !Rest.empty();
    U.Pipeline = Rest;
  } else if (Kind == "option") {
    Good = W.size() == 2;
    if (Good && !isPermittedOption(Rest))
      return Mistake{ExpectedOption, std::string(Rest), DataHint};
    if (std::string Values = expectedValue(Rest); !Values.empty())
      return Mistake{std::move(Values), std::string(Rest)};
    U.Options.emplace_back(Rest);
  } else if (Kind == "level") {
    Good = W.size() == 2 && Rest.size() == 2 && Rest[0] == 'O' &&
           std::string_view("0123sz").find(Rest[1]) != std::string_view::npos;
    U.Level = Rest;
  } else if (Kind == "inline") {
    Good = readInline(W, U);
  } else if (Kind == "function") {
    Good = readFunction(W, U);
  } else if (Kind == "searched") {
    Good = W.size() > 1;
    for (size_t I = 1; I < W.size(); ++I)
      U.Searched.emplace_back(W[I]);
  }
  if (Good)
    return std::nullopt;
  Mistake M;
  M.Got = Line;
  for (const auto &[Name, Hint] : Forms)
    if (Kind == Name)
      M.Hint = Hint;
  return M;
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

/// The first names of units, for a message.
std::string someNames(const std::vector<UnitDecisions> &Units) {
  std::string Text;
  for (size_t I = 0; I < Units.size() && I < 3; ++I)
    Text += (I ? ", " : "") + Units[I].Name;
  return Units.size() > 3
             ? Text + " and " + std::to_string(Units.size() - 3) + " more"
             : Text;
}

class DecisionsRunner final : public Runner {
public:
  DecisionsRunner(TensorSpec Output, TensorSpec Default, DecisionFile F,
                  std::string Path)
      : Runner({std::move(Default)}, std::move(Output)), File(std::move(F)),
        Path(std::move(Path)) {}

  void begin(std::string_view Module) override {
    Unit = File.find(Module);
    Unknown = Module;
    Questions.clear();
    Matched = MatchedBytes = Undecided = 0;
  }
  std::string unused() const override {
    // Link-time optimization asks about units, and about the whole program.
    if (!Unit && Undecided && Unknown != Whole && !File.find(Whole))
      return "decisions " + Path + ": " + File.misfit(Unknown);
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
    if (!Unit) {
      Undecided += !PipelineReportsUnits;
      return;
    }
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
  const std::string Path;
  const UnitDecisions *Unit = nullptr;
  UnitDecisions::Call Key; // keeps its memory from question to question
  std::map<const void *, unsigned> Questions; ///< by the decisions of a call
  const InlineDecision *Found = nullptr;
  unsigned Matched = 0, MatchedBytes = 0; ///< in this compilation
  std::string Unknown;                    ///< the module, if it has no unit
  unsigned Undecided = 0; ///< its questions, where no pipeline reports that
};

} // namespace

thread_local bool PipelineReportsUnits = false;

bool FunctionDecisions::add(std::string_view Word) {
  if (Word == "nooutline")
    return !std::exchange(NoOutline, true);
  if (Word == "minsize" || Word == "optsize" || Word == "speed")
    return std::exchange(Size, Word).empty();
  if (Word.substr(0, 7) == "unwind=" && isUnwindMode(Word.substr(7)))
    return std::exchange(Unwind, Word.substr(7)).empty();
  const std::string_view Kind = take(Word, '=');
  if (Kind != "unroll" && Kind != "vectorize")
    return false;
  const auto Factor = count(Word);
  if (!Factor || *Factor > MaxUnroll)
    return false;
  if (Kind == "unroll")
    return !std::exchange(Unroll, *Factor);
  const bool IsPower = (*Factor & (*Factor - 1)) == 0; // as LLVM wants widths
  return IsPower && !std::exchange(Vectorize, *Factor);
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
  for (unsigned Number = 1; Number == 1 || !Rest.empty(); ++Number) {
    std::string_view Line = Rest.substr(0, Rest.find('\n'));
    Rest.remove_prefix(std::min(Rest.size(), Line.size() + 1));
    std::optional<Mistake> Wrong;
    if (Number == 1) {
      if (Line != Head)
        Wrong = Mistake{"\"" + std::string(Head) + "\"",
                        std::string(Line.substr(0, 60))};
    } else if (Line.empty() || Line[0] == '#') {
      continue;
    } else if (Line.substr(0, 5) == "unit ") {
      F.Units.emplace_back().Name = Line.substr(5);
    } else {
      Wrong = F.Units.empty() ? Mistake{"a decision", std::string(Line)}
                              : readDecision(Line, F.Units.back());
    }
    if (Wrong) {
      Error = "decisions " + Path + ":" + std::to_string(Number) +
              ": expected " + Wrong->Expected + ", got \"" +
              Wrong->Got.substr(0, 80) + "\"; " + Wrong->Hint;
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

std::string DecisionFile::misfit(std::string_view Source) const {
  if (Units.empty() || find(Source))
    return "";
  if (Source == Whole)
    return "expected a build without -flto, for which the decisions are, got a "
           "link with it; build without -flto, or search with --lto";
  if (std::none_of(Units.begin(), Units.end(),
                   [](const UnitDecisions &U) { return U.Name == Whole; }))
    return "expected decisions for " + std::string(Source) +
           ", got those for " + someNames(Units) +
           "; the file is of another program or of other sources, or "
           "`passpilot "
           "tune` must run again";
  return "expected a link with -flto=full, for which the decisions are, got a "
         "compilation of " +
         std::string(Source) + "; build with -flto, or search without --lto";
}

std::unique_ptr<Runner> makeDecisionsRunner(const std::string &Path,
                                            TensorSpec Output,
                                            TensorSpec Default,
                                            std::string &Error) {
  auto F = DecisionFile::read(Path, Error);
  return F ? std::make_unique<DecisionsRunner>(
                 std::move(Output), std::move(Default), std::move(*F), Path)
           : nullptr;
}

} // namespace passpilot
