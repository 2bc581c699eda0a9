// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runner_spec.h"

#include "decision_file.h"
#include "input_file.h"
#include "policy_record.h"
#include "text.h"

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <optional>
#include <set>

namespace passpilot {

namespace {

std::optional<double> threshold(std::string_view Text) {
  const std::string Copy(Text);
  char *End = nullptr;
  const double Value = std::strtod(Copy.c_str(), &End);
  if (Copy.find_first_not_of("0123456789.") != std::string::npos ||
      End != Copy.c_str() + Copy.size() || Copy.empty() || Value > 1)
    return std::nullopt;
  return Value;
}

InputMap mapOf(std::string Input, std::string_view Names, const Point &P) {
  InputMap M{std::move(Input), {}, Names == "*"};
  if (M.All)
    for (const TensorSpec &S : P.Features)
      M.Features.push_back(S.Name);
  else
    M.Features = split(Names);
  return M;
}

bool readMap(std::string_view Text, const Point &P, ModelOptions &O) {
  while (!Text.empty()) {
    std::string_view Names = take(Text, ';');
    std::string Input(take(Names, ':'));
    if (Input.empty() || Names.empty())
      return false;
    O.Map.push_back(mapOf(std::move(Input), Names, P));
  }
  return true;
}

/// Reads the keys of a model runner; nothing if Python has to read them.
std::optional<ModelOptions> readOptions(std::string_view Query,
                                        const Point &P) {
  ModelOptions O;
  if (Query.find_first_of("% ") != std::string_view::npos)
    return std::nullopt;
  std::set<std::string_view> Seen;
  while (!Query.empty()) {
    std::string_view Value = take(Query, '&');
    const std::string_view Key = take(Value, '=');
    bool Good = !Value.empty() && Seen.insert(Key).second;
    if (Key == "output")
      O.OutputName = Value;
    else if (Key == "as")
      O.As = Value;
    else if (Key == "map")
      Good &= readMap(Value, P, O);
    else if (const auto T = threshold(Value); Key == "threshold" && T)
      O.Threshold = T;
    else
      Good = false;
    if (!Good)
      return std::nullopt;
  }
  const DomainKind Kind = P.Domain.Kind;
  const bool Known = O.As.empty() || O.As == "decision" ||
                     (O.As == "logits" && Kind != DomainKind::Number) ||
                     (O.As == "probability" && Kind == DomainKind::Flag) ||
                     (O.As == "score" && Kind == DomainKind::Choice);
  return Known ? std::optional(O) : std::nullopt;
}

std::vector<TensorSpec> offeredBy(const Point &P) {
  std::vector<TensorSpec> Offered = P.Features;
  Offered.push_back(P.Default);
  return Offered;
}

/// The point that a scorer sees: per-column tensors shrink to one element.
Point columnOf(Point P) {
  for (TensorSpec &S : P.Features)
    if (S.elements() == static_cast<size_t>(P.Domain.Count))
      S.Shape = {1};
  P.Decision = {"score", ScalarType::Double, {1}};
  const double Infinity = std::numeric_limits<double>::infinity();
  P.Domain = {DomainKind::Number, 0, "", -Infinity, Infinity};
  return P;
}

std::unique_ptr<Runner> modelRunner(std::string_view Scheme,
                                    const std::string &Path,
                                    const ModelOptions &Options, const Point &P,
                                    const ModelHost &Host, std::string &Error) {
  const std::vector<TensorSpec> Offered = offeredBy(P);
  if (Options.As == "score") {
    ModelOptions Plain = Options;
    Plain.As = "decision";
    auto Scorer = modelRunner(Scheme, Path, Plain, columnOf(P), Host, Error);
    return Scorer ? makeScoreRunner(std::move(Scorer), Offered, P.Decision,
                                    P.Domain)
                  : nullptr;
  }
  bool Mismatch = false;
  if (Scheme == "aot") {
    std::error_code Unknown;
    const auto Whole = std::filesystem::absolute(Path, Unknown);
    return makeAotRunner(Whole.string(), Host.Features, Offered, P.Decision,
                         P.Domain, Options, Error, Mismatch);
  }
  if (Path.empty()) {
    Error = "expected onnx:FILE, got no file";
    return nullptr;
  }
  std::string Why;
  const auto Model = readInput(Path, Why, MostBytes);
  if (!Model) {
    Error = "model " + Path + ": expected an ONNX file, got: " + Why;
    const std::string Inside = Path + "/model.onnx";
    if (std::error_code Unknown; std::filesystem::exists(Inside, Unknown))
      Error += "; did you mean " + Inside + "?";
  }
  if (!Model || Host.OnnxLibrary.empty())
    return nullptr;
  return makeOnnxRunner(Path, *Model, Offered, P.Decision, P.Domain, Options,
                        Host.OnnxLibrary, Error, Mismatch);
}

/// Reads an advice in digits; a Number may have a point or an exponent.
std::optional<Advice> constant(std::string_view Text, const Domain &D) {
  Advice A{0};
  if (D.Kind != DomainKind::Number) {
    const auto Value = number<int64_t>(Text);
    A.Integer = Value.value_or(0);
    return Value ? std::optional(A) : std::nullopt;
  }
  if (Text.empty() || Text.front() < '0' || Text.front() > '9' ||
      Text.find_first_not_of("0123456789.") != std::string_view::npos)
    return std::nullopt;
  const auto Value = number<double>(Text);
  A.Number = Value.value_or(0);
  return Value ? std::optional(A) : std::nullopt;
}

std::unique_ptr<Runner> plainRunner(std::string_view Scheme,
                                    std::string_view Target, const Point &P) {
  if (Scheme == "default" && Target.empty())
    return makeDefaultRunner(P.Decision, P.Default);
  if (Scheme == "const")
    if (const auto A = constant(Target, P.Domain); A && P.Domain.inRange(*A))
      return makeConstRunner(P.Decision, *A);
  if (!std::isfinite(P.Domain.High - P.Domain.Low))
    return nullptr; // an infinite range has no uniform draw
  if (const auto Seed = number<uint64_t>(Target); Scheme == "random" && Seed)
    return makeRandomRunner(P.Decision, P.Domain,
                            named(P.Features, P.Domain.Mask), *Seed);
  return nullptr;
}

} // namespace

std::unique_ptr<Runner> makeNativeRunner(std::string_view Spec, const Point &P,
                                         const ModelHost &Host,
                                         std::string &Error) {
  if (namesPolicy(Spec)) {
    const auto Policy = PolicyRecord::find(Spec, Host.Plugin);
    const std::string Inner = Policy ? Policy->runner(Spec, P.Name, Error) : "";
    return Inner.empty() ? nullptr : makeNativeRunner(Inner, P, Host, Error);
  }
  const bool Asks = Spec.find('?') != std::string_view::npos;
  std::string_view Query = Spec;
  std::string_view Target = take(Query, '?');
  const std::string_view Scheme = take(Target, ':');
  if (Scheme == "onnx" || Scheme == "aot") {
    const auto Options = readOptions(Query, P);
    return Options ? modelRunner(Scheme, std::string(Target), *Options, P, Host,
                                 Error)
                   : nullptr;
  }
  if (Scheme == "decisions" && !Asks && P.Domain.Kind == DomainKind::Flag)
    return makeDecisionsRunner(std::string(Target), P.Decision, P.Default,
                               Error);
  return Asks ? nullptr : plainRunner(Scheme, Target, P);
}

} // namespace passpilot
