// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The runner contract in C++, and the runners that need no interpreter.
//
// Lifetime: the caller owns the input buffers and keeps them at the same
// addresses for the runner's life. A runner never clears its inputs.
// Threads: one runner serves one thread at a time; whoever asks it reserves it
// first.

#pragma once

#include "../include/passpilot_model.h"
#include "point.h"

#include <atomic>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>

namespace passpilot {

struct DecisionPlace;

/// Which questions a runner answers faster in a batch.
enum class Batching {
  None,       ///< no batches
  OneContext, ///< questions between two switches of the context
  Any
};

class Runner {
public:
  Runner(std::vector<TensorSpec> Inputs, TensorSpec Output)
      : Inputs(std::move(Inputs)), Output(std::move(Output)) {}
  virtual ~Runner() = default;

  const std::vector<TensorSpec> &inputs() const { return Inputs; }
  const TensorSpec &output() const { return Output; }

  /// Answers the question in \p In (one pointer per input, in order) and writes
  /// it to \p Out (room for output()). Returns false on failure; see error().
  virtual bool evaluate(const void *const *In, void *Out) = 0;
  /// Answers \p Count independent questions; input I of question N is at In[I]
  /// + N * \p Stride bytes. Calls evaluate() once per question unless the
  /// runner supports batches.
  virtual bool evaluateBatch(const void *const *In, size_t Stride, size_t Count,
                             Advice *Out);
  virtual Batching batching() const { return Batching::None; }
  /// Whether it may read other offered tensors than its inputs.
  virtual bool readsOthers() const { return false; }
  virtual void switchContext(std::string_view) {}
  /// A compilation of the module that was made of the file \p Source begins.
  virtual void begin(std::string_view Source) { (void)Source; }
  /// Whether the compiler must call locate() before each question.
  virtual bool wantsPlace() const { return false; }
  virtual void locate(const DecisionPlace &) {}
  /// What the user should know after a compilation that succeeded: the part of
  /// the runner that it did not need. Empty if nothing.
  virtual std::string unused() const { return ""; }
  const std::string &error() const { return Error; }
  /// What the user should know about a runner that works; empty if nothing.
  const std::string &warning() const { return Warning; }

  /// Reserves the runner for a question, or for all questions of a compilation.
  /// Returns false if it is reserved already.
  bool reserve() { return !Reserved.test_and_set(std::memory_order_acquire); }
  void release() { Reserved.clear(std::memory_order_release); }

protected:
  static const void *shifted(const void *Place, size_t Bytes) {
    return static_cast<const char *>(Place) + Bytes;
  }
  /// The input pointers of \p In plus \p Bytes; valid until the next call.
  const void *const *offset(const void *const *In, size_t Bytes);

  std::vector<TensorSpec> Inputs;
  TensorSpec Output;
  std::string Error, Warning;

private:
  std::vector<const void *> Shifted; ///< the inputs of one question of a batch
  std::atomic_flag Reserved = ATOMIC_FLAG_INIT;
};

/// Always gives the same answer.
std::unique_ptr<Runner> makeConstRunner(TensorSpec Output, Advice Value);

/// Copies its one input, the compiler's own decision.
std::unique_ptr<Runner> makeDefaultRunner(TensorSpec Output,
                                          TensorSpec Default);

/// Draws uniformly among the legal answers, from (seed, context, ordinal in the
/// context): x = splitmix64(splitmix64(seed ^ fnv1a64(context)) + ordinal). A
/// Flag is the top bit of x; a Choice is legal column number (x >> 32) * legal
/// >> 32 of \p Mask; a Number is step x >> 32 of 2^32 equal steps from the
/// least to the largest.
std::unique_ptr<Runner> makeRandomRunner(TensorSpec Output, const Domain &D,
                                         const TensorSpec *Mask, uint64_t Seed);

/// Chooses the column with the largest score of \p Scorer, the first if several
/// are equal, among those that the mask of \p D allows. Of each tensor in \p
/// Offered with D.Count elements, the scorer sees the column's element. All
/// columns are asked as one batch.
std::unique_ptr<Runner> makeScoreRunner(std::shared_ptr<Runner> Scorer,
                                        const std::vector<TensorSpec> &Offered,
                                        TensorSpec Output, const Domain &D);

/// Calls \p Evaluate, which must outlive the runner.
std::unique_ptr<Runner> makeFunctionRunner(std::vector<TensorSpec> Inputs,
                                           TensorSpec Output,
                                           passpilot_evaluate Evaluate,
                                           void *Context);

/// The features that are concatenated into a model input, as map= lists them.
struct InputMap {
  std::string Input;
  std::vector<std::string> Features;
  /// Whether the user wrote "*": the columns that the model names, or else
  /// Features, which are all of the point's own.
  bool All = false;
};

/// How a model's tensors become a decision.
struct ModelOptions {
  std::string
      OutputName; ///< empty: the only output, or the one named as the advice
  std::string
      As; ///< "decision", "logits", "probability"; empty: by type and size
  std::optional<double> Threshold; ///< only for a probability; 0.5 if unset
  std::vector<InputMap> Map;
};

/// Loads \p Model (the file's bytes) into the onnxruntime at \p Library and
/// binds its inputs by name to \p Offered. Returns null with \p Error set on
/// failure; \p Mismatch: the model is valid but does not fit. Logits of a
/// Choice are compared at the columns that its mask, one of the offered
/// tensors, allows.
std::unique_ptr<Runner>
makeOnnxRunner(const std::string &Path, std::string_view Model,
               const std::vector<TensorSpec> &Offered, TensorSpec Output,
               const Domain &D, const ModelOptions &Options,
               const std::string &Library, std::string &Error, bool &Mismatch);

/// Loads the shared library at the absolute path \p Path, which `passpilot aot`
/// compiled. \p Features are this processor's, by LLVM's names. Everything else
/// is as for an ONNX model.
std::unique_ptr<Runner> makeAotRunner(const std::string &Path,
                                      const std::vector<std::string> &Features,
                                      const std::vector<TensorSpec> &Offered,
                                      TensorSpec Output, const Domain &D,
                                      const ModelOptions &Options,
                                      std::string &Error, bool &Mismatch);

} // namespace passpilot
