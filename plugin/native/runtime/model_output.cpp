// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chooses the output of a model that decides, and reads a decision from it.

#include "model_runner.h"

#include "onnx_tensor.h"
#include "text.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <set>
#include <sstream>

namespace passpilot {

using onnx::closeShape;
using onnx::findOnnx;
using onnx::load;
using onnx::shapeText;

void ModelRunner::nameWarning(const std::string &Path) {
  static std::mutex Mutex;
  static std::set<std::string> Warnings;
  if (Warning.empty())
    return;
  Warning = "model " + Path + ": " + Warning;
  std::lock_guard<std::mutex> Lock(Mutex);
  if (!Warnings.insert(Warning).second)
    Warning.clear();
}

bool ModelRunner::refuse(std::string Text) {
  Error = std::move(Text);
  Mismatch = true;
  return false;
}

bool ModelRunner::findOutput(const std::vector<ModelTensor> &Known,
                             const ModelOptions &Options) {
  const std::string Wanted =
      Options.OutputName.empty() ? Output.Name : Options.OutputName;
  bool Found = Known.size() == 1 && Options.OutputName.empty();
  for (size_t I = 0; I < Known.size(); ++I)
    if (Known[I].Name == Wanted) {
      Found = true;
      Chosen = I;
    }
  return Found || refuse("output: expected '" + Wanted + "', got " +
                         namesOf(Known) + "; name one by output=");
}

bool ModelRunner::chooseOutput(const std::vector<ModelTensor> &Known,
                               const std::vector<TensorSpec> &Offered,
                               const ModelOptions &Options) {
  if (!findOutput(Known, Options))
    return false;
  const int Type = Known[Chosen].Type;
  const std::vector<int64_t> &Shape = Known[Chosen].Shape;
  OutputName = Known[Chosen].Name;
  if (Type != onnx::Bool && !findOnnx(Type))
    return refuse("output '" + OutputName +
                  "': expected a tensor of numbers, got another type");
  bool IsFloat = Type == onnx::Float || Type == onnx::Double;
  int64_t Last = Shape.empty() ? 1 : Shape.back();
  const bool Guess = Options.As.empty() && IsFloat;
  if (TheDomain.Kind == DomainKind::Number)
    Means = Meaning::Decision;
  else if (Options.As == "logits" || (Guess && Last != 1))
    Means = Meaning::Logits;
  else if (Options.As == "probability" ||
           (Guess && TheDomain.Kind == DomainKind::Flag))
    Means = Meaning::Probability;
  if (Options.Threshold && Means != Meaning::Probability)
    return refuse(
        "threshold=: expected an output that is a probability, got "
        "'" +
        OutputName +
        "', which is the decision itself or has an "
        "element for each choice; remove threshold=" +
        (TheDomain.Kind == DomainKind::Flag ? ", or add as=probability" : ""));
  Threshold = Options.Threshold.value_or(0.5);
  std::vector<int64_t> Closed = Shape;
  const bool Fixed =
      std::all_of(Shape.begin(), Shape.end(), [](int64_t D) { return D >= 0; });
  if (Fixed && !closeShape(Closed, wanted()))
    return refuse("output '" + OutputName + "': expected " + wantedText() +
                  ", got " + shapeText(Shape) + "; see as=");
  if (Means == Meaning::Logits && TheDomain.Kind == DomainKind::Choice) {
    MaskInput = Inputs.size();
    Inputs.push_back(*named(Offered, TheDomain.Mask));
  }
  return true;
}

std::string ModelRunner::wantedText() const {
  return std::to_string(wanted()) +
         (wanted() == 1 ? " element" : " elements, one per choice");
}

bool ModelRunner::decide(const void *Data, int Type, size_t Row,
                         const int64_t *Mask, Advice &Out) {
  const size_t N = wanted();
  auto Value = [&](size_t I) { return load(Data, Type, Row * N + I); };
  for (size_t I = 0; I < N; ++I)
    if (std::isnan(Value(I))) {
      Error = "output '" + OutputName + "': expected numbers, got NaN";
      return false;
    }
  if (Means == Meaning::Decision)
    return decision(Value(0), Out);
  if (Means == Meaning::Probability) {
    Out.Integer = Value(0) >= Threshold;
    return true;
  }
  size_t Best = N; // the first legal one with the largest value
  for (size_t I = 0; I < N; ++I)
    if ((!Mask || Mask[I]) && (Best == N || Value(I) > Value(Best)))
      Best = I;
  Out.Integer = static_cast<int64_t>(Best);
  return true;
}

/// Takes the output as the decision itself. The caller checks whether a number
/// or a column is legal.
bool ModelRunner::decision(double X, Advice &A) {
  if (TheDomain.Kind == DomainKind::Number) {
    A.Number = X;
    return true;
  }
  if (X >= 0 && X < static_cast<double>(TheDomain.Count) &&
      X == std::floor(X)) {
    A.Integer = static_cast<int64_t>(X);
    return true;
  }
  std::ostringstream OS;
  OS << "output '" << OutputName << "': expected " << TheDomain.expected()
     << ", got " << X;
  if (TheDomain.Kind == DomainKind::Flag)
    OS << "; as=probability&threshold= makes a decision of a probability";
  Error = OS.str();
  return false;
}

} // namespace passpilot
