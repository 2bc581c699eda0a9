// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the runners of models share: which offered tensors fill the model's
// inputs, and how its output becomes a decision. Types are ONNX's.

#ifndef PASSPILOT_RUNTIME_MODEL_RUNNER_H
#define PASSPILOT_RUNTIME_MODEL_RUNNER_H

#include "runner.h"

#include <optional>

namespace passpilot {

/// A tensor as the model declares it; open dimensions are negative.
struct ModelTensor {
  std::string Name;
  int Type = 0;
  std::vector<int64_t> Shape;
};

class ModelRunner : public Runner {
public:
  ModelRunner(TensorSpec Output, const Domain &D)
      : Runner({}, std::move(Output)), TheDomain(D) {}

  /// Whether error() is about a sound model that does not fit.
  bool mismatch() const { return Mismatch; }

protected:
  /// One input of the model: a buffer of our own, filled from our inputs
  /// [First, First + Count) before each run, for one question after the other.
  struct Port : ModelTensor {
    size_t Size = 0; ///< in elements, of one question
    std::vector<uint64_t> Buffer;
    const void *InPlace = nullptr; ///< where the model reads it, if not there
    size_t First = 0, Count = 0;
    std::vector<size_t> Elements; ///< of each of them
    bool Same = false;            ///< one input, of the port's own type
    size_t bytes() const;
  };

  /// Binds a port for each of \p Wanted to \p Offered, and closes its shape.
  bool bindInputs(const std::vector<ModelTensor> &Wanted,
                  const std::vector<TensorSpec> &Offered,
                  const ModelOptions &Options);
  /// Chooses from \p Known the output that decides, and how it is read. Logits
  /// of a Choice want its mask, one of \p Offered.
  bool chooseOutput(const std::vector<ModelTensor> &Known,
                    const std::vector<TensorSpec> &Offered,
                    const ModelOptions &Options);
  /// Writes the question whose inputs are \p Offset bytes after \p In to the
  /// row \p Row of the port's buffer.
  void fill(Port &P, const void *const *In, size_t Offset, size_t Row);
  /// The number of elements of an answer.
  size_t wanted() const {
    return Means == Meaning::Logits ? static_cast<size_t>(TheDomain.Count) : 1;
  }
  std::string wantedText() const;
  /// Reads the answer \p Row of the output at \p Data.
  bool decide(const void *Data, int Type, size_t Row, const int64_t *Mask,
              Advice &Out);
  bool refuse(std::string Text);

  const Domain TheDomain;
  std::vector<Port> Ports;
  size_t Chosen = 0; ///< of the model's outputs
  std::string OutputName;
  std::optional<size_t> MaskInput; ///< of our inputs; for logits of a Choice

private:
  enum class Meaning { Decision, Logits, Probability };
  Meaning Means = Meaning::Decision;
  double Threshold = 0.5;
  bool Mismatch = false;

  bool findOutput(const std::vector<ModelTensor> &Known,
                  const ModelOptions &Options);
  bool fit(Port &P, const TensorSpec &Spec);
  bool concatenate(Port &P, const std::vector<std::string> &Names,
                   const std::vector<TensorSpec> &Offered);
  bool decision(double X, Advice &A);
};

} // namespace passpilot

#endif
