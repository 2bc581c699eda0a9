// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "model_runner.h"

#include "onnx_tensor.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <mutex>
#include <set>
#include <sstream>

namespace passpilot {

using onnx::closeShape;
using onnx::findOnnx;
using onnx::load;
using onnx::shapeText;
using onnx::store;
using onnx::TypePair;

static const TensorSpec *find(const std::vector<TensorSpec> &Specs,
                              const std::string &Name) {
  for (const TensorSpec &S : Specs)
    if (S.Name == Name)
      return &S;
  return nullptr;
}

size_t ModelRunner::Port::bytes() const {
  return Size * scalarSize(findOnnx(Type)->Ours);
}

std::vector<std::string> columnNames(const char *Text) {
  std::vector<std::string> Names;
  std::istringstream In(Text ? Text : "");
  for (std::string Name; std::getline(In, Name, ',');)
    Names.push_back(Name);
  return Names;
}

void ModelRunner::nameWarning(const std::string &Path) {
  static std::mutex Mutex;
  static std::set<std::string> Given;
  if (Warning.empty())
    return;
  Warning = "model " + Path + ": " + Warning;
  std::lock_guard<std::mutex> Lock(Mutex);
  if (!Given.insert(Warning).second)
    Warning.clear();
}

bool ModelRunner::refuse(std::string Text) {
  Error = std::move(Text);
  Mismatch = true;
  return false;
}

bool ModelRunner::bindInputs(const std::vector<ModelTensor> &Wanted,
                             const std::vector<TensorSpec> &Offered,
                             const ModelOptions &Options) {
  std::string Names;
  for (const ModelTensor &T : Wanted)
    Names += (Names.empty() ? "" : ", ") + T.Name;
  for (const InputMap &M : Options.Map)
    if (std::none_of(Wanted.begin(), Wanted.end(),
                     [&](const auto &T) { return T.Name == M.Input; }))
      return refuse("map=" + M.Input + ": expected an input of the model (" +
                    Names + "), got '" + M.Input + "'");
  for (const ModelTensor &T : Wanted) {
    Port &P = Ports.emplace_back();
    static_cast<ModelTensor &>(P) = T;
    auto Mapped =
        std::find_if(Options.Map.begin(), Options.Map.end(),
                     [&](const InputMap &M) { return M.Input == P.Name; });
    if (!bindInput(P, Mapped == Options.Map.end() ? nullptr : &*Mapped,
                   Offered))
      return false;
  }
  return true;
}

/// Binds \p P to the columns that the model names, to those of \p M (null: none
/// given), or to the tensor of its name.
bool ModelRunner::bindInput(Port &P, const InputMap *M,
                            const std::vector<TensorSpec> &Offered) {
  if (!P.Columns.empty())
    return (!M || M->All || agrees(P, *M)) &&
           concatenate(P, P.Columns, Offered);
  if (M) {
    if (M->All && Warning.empty())
      Warning = "input '" + P.Name +
                "': expected the names of its columns in the model, got none; "
                "map=" +
                P.Name +
                ":* takes all of the compiler's features in its own order: "
                "write the names by passpilot.name_columns()";
    return concatenate(P, M->Features, Offered);
  }
  if (const TensorSpec *Spec = find(Offered, P.Name))
    return fit(P, *Spec);
  return refuse(
      "input '" + P.Name +
      "': expected a tensor that the compiler offers, got " +
      (findOnnx(P.Type) ? numpyName(findOnnx(P.Type)->Ours) : "a tensor") +
      shapeText(P.Shape) +
      ", which nobody offers; 'passpilot features' lists them, and map=" +
      P.Name + ":a,b concatenates several into one input");
}

/// Whether \p M lists the columns that the model names.
bool ModelRunner::agrees(const Port &P, const InputMap &M) {
  const std::string Who = "map=" + P.Name + ": expected ",
                    Hint = "; leave map= out";
  if (M.Features.size() != P.Columns.size())
    return refuse(Who + "the " + std::to_string(P.Columns.size()) +
                  " columns that the model names, got " +
                  std::to_string(M.Features.size()) + Hint);
  for (size_t I = 0; I < P.Columns.size(); ++I)
    if (M.Features[I] != P.Columns[I])
      return refuse(Who + "'" + P.Columns[I] + "' as column " +
                    std::to_string(I + 1) + ", as the model names it, got '" +
                    M.Features[I] + "'" + Hint);
  return true;
}

bool ModelRunner::fit(Port &P, const TensorSpec &Spec) {
  const TypePair *T = findOnnx(P.Type);
  std::vector<int64_t> Closed = P.Shape;
  if (!T || T->Ours != Spec.Type || !closeShape(Closed, Spec.elements()))
    return refuse("input '" + P.Name + "': expected " + numpyName(Spec.Type) +
                  shapeText(Spec.Shape) + " as the compiler offers, " + "got " +
                  (T ? numpyName(T->Ours) : "another type") +
                  shapeText(P.Shape) +
                  " in the model; export the model with the compiler's spec, "
                  "or use map=" +
                  P.Name + ":...");
  P.Shape = Closed;
  P.Size = Spec.elements();
  P.First = Inputs.size();
  P.Count = 1;
  P.Same = true;
  Inputs.push_back(Spec);
  return true;
}

bool ModelRunner::concatenate(Port &P, const std::vector<std::string> &Names,
                              const std::vector<TensorSpec> &Offered) {
  if (P.Type != onnx::Float && P.Type != onnx::Double)
    return refuse("input '" + P.Name +
                  "': expected a float or double tensor for its columns, got "
                  "another type; only float inputs are concatenated");
  P.First = Inputs.size();
  for (const std::string &Name : Names) {
    const TensorSpec *Spec = find(Offered, Name);
    if (!Spec)
      return refuse(
          (P.Columns.empty()
               ? "map=" + P.Name + ": expected names"
               : "input '" + P.Name + "': expected columns of the model") +
          " that the compiler offers, got '" + Name +
          "'; 'passpilot features' lists them, and the file of a custom one "
          "must be loaded");
    P.Size += Spec->elements();
    P.Elements.push_back(Spec->elements());
    Inputs.push_back(*Spec);
  }
  P.Count = Names.size();
  std::vector<int64_t> Closed = P.Shape;
  if (!closeShape(Closed, P.Size))
    return refuse(
        "input '" + P.Name + "': expected " + shapeText(P.Shape) +
        " as the model has, got " + std::to_string(P.Size) + " elements from " +
        (P.Columns.empty() ? "map=" + P.Name : "the columns that it names"));
  P.Shape = Closed;
  return true;
}

bool ModelRunner::findOutput(const std::vector<ModelTensor> &Known,
                             const ModelOptions &Options) {
  const std::string Wanted =
      Options.OutputName.empty() ? Output.Name : Options.OutputName;
  bool Found = Known.size() == 1 && Options.OutputName.empty();
  std::string Names;
  for (size_t I = 0; I < Known.size(); ++I) {
    if (Known[I].Name == Wanted) {
      Found = true;
      Chosen = I;
    }
    Names += (I ? ", " : "") + Known[I].Name;
  }
  return Found || refuse("output: expected '" + Wanted + "', got " + Names +
                         "; name one by output=");
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
    Inputs.push_back(*find(Offered, TheDomain.Mask));
  }
  return true;
}

void ModelRunner::fill(Port &P, const void *const *In, size_t Offset,
                       size_t Row) {
  if (P.Same) {
    std::memcpy(reinterpret_cast<char *>(P.Buffer.data()) + Row * P.bytes(),
                shifted(In[P.First], Offset), P.bytes());
    return;
  }
  size_t At = Row * P.Size;
  for (size_t I = P.First; I < P.First + P.Count; ++I)
    for (size_t J = 0, E = P.Elements[I - P.First]; J < E; ++J)
      store(P.Buffer.data(), P.Type, At++, shifted(In[I], Offset),
            Inputs[I].Type, J);
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
