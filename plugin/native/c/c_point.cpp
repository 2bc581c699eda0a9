// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "c_point.h"

#include "../runtime/onnx_tensor.h"
#include "../runtime/text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>
#include <stdexcept>

namespace passpilot {

namespace {

// The limits of features/spec.py.
const uint32_t MostDimensions = 32;
const uint64_t MostBytes = 1 << 30;

[[noreturn]] void refuse(const std::string &Who, const std::string &Expected,
                         const std::string &Got) {
  throw std::invalid_argument(Who + ": expected " + Expected + ", got " + Got);
}

std::string readName(const char *Text, const std::string &Who) {
  if (!Text || !*Text)
    refuse(Who, "a name", "none");
  const std::string Name(Text);
  if (std::any_of(Name.begin(), Name.end(),
                  [](unsigned char C) { return C < ' ' || C == 127; }))
    refuse(Who, "a name without control characters", "one with some");
  return Name;
}

TensorSpec readFeature(const passpilot_feature &F, const std::string &Point) {
  TensorSpec S;
  S.Name = readName(F.name, Point + ": feature");
  const std::string Who = Point + ": feature " + S.Name;
  const onnx::TypePair *Type = F.type == PASSPILOT_BOOL
                                   ? nullptr
                                   : onnx::findOnnx(static_cast<int>(F.type));
  if (!Type)
    refuse(Who, "an enum passpilot_type other than PASSPILOT_BOOL",
           std::to_string(F.type));
  S.Type = Type->Ours;
  if (F.rank > MostDimensions || (F.rank && !F.shape))
    refuse(Who,
           "a shape of at most " + std::to_string(MostDimensions) +
               " dimensions",
           F.shape ? std::to_string(F.rank) : "none");
  uint64_t Bytes = scalarSize(S.Type);
  for (uint32_t I = 0; I < F.rank; ++I) {
    const int64_t N = F.shape[I];
    if (N < 1)
      refuse(Who, "dimensions of at least 1", std::to_string(N));
    if (static_cast<uint64_t>(N) > MostBytes / Bytes)
      refuse(Who, "at most " + std::to_string(MostBytes) + " bytes", "more");
    Bytes *= static_cast<uint64_t>(N);
    S.Shape.push_back(N);
  }
  return S;
}

Domain readDomain(const passpilot_domain &D, const std::string &Who) {
  Domain Read;
  Read.Kind = static_cast<DomainKind>(D.kind);
  switch (D.kind) {
  case PASSPILOT_FLAG:
    return Read;
  case PASSPILOT_CHOICE:
    if (D.count < 1 || static_cast<uint64_t>(D.count) > MostBytes / 8)
      refuse(Who, "a choice among at least one", std::to_string(D.count));
    Read.Count = D.count;
    Read.Mask = D.mask ? readName(D.mask, Who + ": mask") : "mask";
    return Read;
  case PASSPILOT_NUMBER:
    if (!(std::isfinite(D.low) && std::isfinite(D.high) && D.low <= D.high))
      refuse(Who, "finite numbers as low and high", "others");
    Read.Low = D.low;
    Read.High = D.high;
    return Read;
  default:
    refuse(Who, "an enum passpilot_domain_kind", std::to_string(D.kind));
  }
}

/// Adds the mask of a choice if the features lack it.
void addMask(Point &P, const std::string &Who) {
  if (P.Domain.Kind != DomainKind::Choice)
    return;
  if (const TensorSpec *Mask = named(P.Features, P.Domain.Mask)) {
    if (Mask->Type == ScalarType::Int64 &&
        Mask->elements() == static_cast<size_t>(P.Domain.Count))
      return;
    refuse(Who, "a mask int64[1," + std::to_string(P.Domain.Count) + "]",
           Mask->str());
  }
  P.Features.push_back({P.Domain.Mask, ScalarType::Int64, {1, P.Domain.Count}});
}

void checkNames(const Point &P, const std::string &Who) {
  std::set<std::string> Names{P.Decision.Name, P.Default.Name};
  for (const TensorSpec &S : P.Features)
    if (!Names.insert(S.Name).second)
      refuse(Who, "a name for each tensor", "two of " + S.Name);
}

std::string describe(const Domain &D) {
  char Text[80] = "flag";
  if (D.Kind == DomainKind::Number)
    std::snprintf(Text, sizeof Text, "number %.17g %.17g", D.Low, D.High);
  return D.Kind == DomainKind::Choice
             ? "choice " + std::to_string(D.Count) + " " + D.Mask
             : Text;
}

std::string describe(const TensorSpec &S) {
  return S.str().substr(S.Name.size() + 1) + " " + S.Name;
}

} // namespace

Point readPoint(const passpilot_point &From) {
  Point P;
  P.Name = readName(From.name, "decision point");
  const std::string Who = "decision point " + P.Name;
  if (From.feature_count && !From.features)
    refuse(Who, "features", "none");
  for (size_t I = 0; I < From.feature_count; ++I)
    P.Features.push_back(readFeature(From.features[I], Who));
  P.Domain = readDomain(From.domain, Who);
  const ScalarType Type = P.Domain.Kind == DomainKind::Number
                              ? ScalarType::Double
                              : ScalarType::Int64;
  P.Decision = {From.advice ? readName(From.advice, Who + ": advice")
                            : "advice",
                Type,
                {1}};
  P.Default = {P.Decision.Name + "_default", Type, {1}};
  addMask(P, Who);
  checkNames(P, Who);
  return P;
}

std::string describe(const Point &P) {
  std::string Text = P.Name + "\n" + describe(P.Domain) + "\n" +
                     describe(P.Decision) + "\n" + describe(P.Default);
  for (const TensorSpec &S : P.Features)
    Text += "\n" + describe(S);
  return Text;
}

} // namespace passpilot
