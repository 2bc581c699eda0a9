// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matches the inputs of a model, in ONNX's format or compiled, with the tensors
// that the compiler offers.

#include "model_runner.h"

#include "onnx_tensor.h"
#include "text.h"

#include <algorithm>
#include <cstring>
#include <filesystem>

namespace passpilot {

using onnx::closeShape;
using onnx::findOnnx;
using onnx::shapeText;
using onnx::store;
using onnx::TypePair;

std::string namesOf(const std::vector<ModelTensor> &Tensors) {
  std::vector<std::string_view> Names;
  Names.reserve(Tensors.size());
  for (const ModelTensor &T : Tensors)
    Names.push_back(T.Name);
  return joined(Names);
}

size_t ModelRunner::Port::bytes() const {
  return Size * scalarSize(findOnnx(Type)->Ours);
}

bool ModelRunner::bindInputs(const std::vector<ModelTensor> &Wanted,
                             const std::vector<TensorSpec> &Offered,
                             const ModelOptions &Options) {
  for (const InputMap &M : Options.Map)
    if (!named(Wanted, M.Input))
      return refuse("map=" + M.Input + ": expected an input of the model (" +
                    namesOf(Wanted) + "), got '" + M.Input + "'");
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

std::string ModelRunner::loadHint(const std::string &Feature) const {
  for (const std::string &Text : split(CustomFeatures)) {
    const size_t Equals = Text.find('=');
    if (Equals == std::string::npos || Text.substr(0, Equals) != Feature)
      continue;
    // A model names no file elsewhere: whoever reads the hint runs the file.
    std::string File =
        std::filesystem::path(Text.substr(Equals + 1)).filename().string();
    const std::filesystem::path Beside = std::filesystem::path(Folder) / File;
    std::error_code Ignored;
    if (std::filesystem::is_regular_file(Beside, Ignored))
      File = Beside.lexically_normal().string();
    return "; the model's feature is registered by " + File +
           ": add --load=" + File;
  }
  return "";
}

/// Whether features can be concatenated into \p P.
bool ModelRunner::isFloat(const Port &P) {
  return P.Type == onnx::Float || P.Type == onnx::Double;
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
  if (const TensorSpec *Spec = named(Offered, P.Name))
    return fit(P, *Spec);
  const std::string Load = loadHint(P.Name);
  const std::string Map = isFloat(P) ? ", and map=" + P.Name +
                                           ":a,b concatenates several into one "
                                           "input"
                                     : "";
  return refuse(
      "input '" + P.Name +
      "': expected a tensor that the compiler offers, got " +
      (findOnnx(P.Type) ? numpyName(findOnnx(P.Type)->Ours) : "a tensor") +
      shapeText(P.Shape) + ", which nobody offers" +
      (Load.empty() ? "; 'passpilot features --point=POINT' lists them" + Map
                    : Load));
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
                  " in the model; export the model with the compiler's spec" +
                  (isFloat(P) ? ", or use map=" + P.Name + ":..." : ""));
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
  if (!isFloat(P))
    return refuse("input '" + P.Name +
                  "': expected a float or double tensor for its columns, got "
                  "another type; only float inputs are concatenated");
  P.First = Inputs.size();
  for (const std::string &Name : Names) {
    const TensorSpec *Spec = named(Offered, Name);
    const std::string Load = Spec ? "" : loadHint(Name);
    if (!Spec)
      return refuse(
          (P.Columns.empty()
               ? "map=" + P.Name + ": expected names"
               : "input '" + P.Name + "': expected columns of the model") +
          " that the compiler offers, got '" + Name + "'" +
          (!Load.empty()     ? Load
           : MadeFor.empty() ? "; 'passpilot features --point=POINT' lists "
                               "them, and --load=FILE.py adds your own"
                             : "; the model was made for " + MadeFor +
                                   ", and 'passpilot features --point=" +
                                   MadeFor + "' lists what it offers"));
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

} // namespace passpilot
