// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shared by the model runners: model_inputs.cpp matches the offered tensors
// with the model's inputs, model_output.cpp reads a decision. Types are ONNX's.

#pragma once

#include "runner.h"

#include <optional>

namespace passpilot {

/// A tensor as the model declares it; open dimensions are negative.
struct ModelTensor {
  std::string Name;
  int Type = 0;
  std::vector<int64_t> Shape;
  /// The features that an input is made of, if the model names them.
  std::vector<std::string> Columns = {};
};

/// The names of \p Tensors, with commas between them.
std::string namesOf(const std::vector<ModelTensor> &Tensors);

class ModelRunner : public Runner {
public:
  ModelRunner(TensorSpec Output, const Domain &D)
      : Runner({}, std::move(Output)), TheDomain(D) {}

  /// Whether error() means that the model is valid but does not fit.
  bool mismatch() const { return Mismatch; }
  /// Puts the model's path before the warning, and drops a warning that this
  /// process has given before: a compiler may make a runner for each module.
  void nameWarning(const std::string &Path);

protected:
  /// One input of the model: our own buffer, filled before each run from our
  /// inputs [First, First + Count), one question per row.
  struct Port : ModelTensor {
    size_t Size = 0; ///< elements per question
    std::vector<uint64_t> Buffer;
    const void *InPlace = nullptr; ///< read here instead, if not null
    size_t First = 0, Count = 0;
    std::vector<size_t> Elements; ///< per source tensor
    bool Same = false;            ///< one source tensor, of the port's type
    size_t bytes() const;
  };

  /// Binds one port per tensor in \p Wanted to \p Offered; sets open
  /// dimensions.
  bool bindInputs(const std::vector<ModelTensor> &Wanted,
                  const std::vector<TensorSpec> &Offered,
                  const ModelOptions &Options);
  /// Chooses from \p Known the output that decides and how to read it. Logits
  /// of a Choice need its mask, which must be in \p Offered.
  bool chooseOutput(const std::vector<ModelTensor> &Known,
                    const std::vector<TensorSpec> &Offered,
                    const ModelOptions &Options);
  /// Copies one question into row \p Row of the port's buffer. Its inputs are
  /// \p Offset bytes after \p In.
  void fill(Port &P, const void *const *In, size_t Offset, size_t Row);
  /// The number of elements of one answer.
  size_t wanted() const {
    return Means == Meaning::Logits ? static_cast<size_t>(TheDomain.Count) : 1;
  }
  std::string wantedText() const;
  /// Reads answer \p Row from the output at \p Data.
  bool decide(const void *Data, int Type, size_t Row, const int64_t *Mask,
              Advice &Out);
  bool refuse(std::string Text);
  /// Whether an output of this type is the advice itself, in its own type.
  bool isAdvice(int Type) const {
    return Means == Meaning::Decision &&
           Type == (TheDomain.Kind == DomainKind::Number ? PASSPILOT_DOUBLE
                                                         : PASSPILOT_INT64);
  }

  /// The model's custom features and the files that register them, as
  /// "name=file.py,...", and the folder of the model's file.
  std::string CustomFeatures, Folder;
  std::string MadeFor; ///< the point that it was trained for, if known

  const Domain TheDomain;
  std::vector<Port> Ports;
  size_t Chosen = 0; ///< index of the model's output
  std::string OutputName;
  std::optional<size_t> MaskInput; ///< among our inputs; for a Choice's logits

private:
  enum class Meaning { Decision, Logits, Probability };
  Meaning Means = Meaning::Decision;
  double Threshold = 0.5;
  bool Mismatch = false;

  /// What to load for a feature that nobody offers; empty if that is unknown.
  std::string loadHint(const std::string &Feature) const;
  static bool isFloat(const Port &P);
  bool bindInput(Port &P, const InputMap *M,
                 const std::vector<TensorSpec> &Offered);
  bool agrees(const Port &P, const InputMap &M);
  bool findOutput(const std::vector<ModelTensor> &Known,
                  const ModelOptions &Options);
  bool fit(Port &P, const TensorSpec &Spec);
  bool concatenate(Port &P, const std::vector<std::string> &Names,
                   const std::vector<TensorSpec> &Offered);
  bool decision(double X, Advice &A);
};

} // namespace passpilot
