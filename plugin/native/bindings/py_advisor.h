// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An advisor that Python has configured.

#pragma once

#include "../llvm/call_site.h"
#include "../runtime/session.h"
#include "native_feature.h"

#include <functional>
#include <memory>
#include <thread>
#include <tuple>

namespace passpilot {

/// An advisor that Python has configured, with the objects it keeps alive. GIL:
/// held to change any member but Session, which the compiling thread uses.
struct PyAdvisor {
  passpilot::Point Point;
  std::unique_ptr<passpilot::Session> Session;
  nb::object Evaluate, SwitchContext; ///< a Python runner's methods
  nb::object EvaluateBatch;           ///< its own batch method, if any
  Batching Batches = Batching::None;  ///< which batches that accepts
  std::vector<nb::object> Fills;      ///< one per custom feature in Python
  nb::object Exception;         ///< failure()'s exception, if Python raised
  nb::object FallbackException; ///< the first fallback's exception
  std::unique_ptr<DecisionLog> Log;
  // For the decision point of a pass in Python; see pass_question.cpp.
  std::vector<std::tuple<nb::object, nb::object, nb::object>> Stores;
  nb::object CheckNames, Locate;
  std::thread::id Compiler; ///< the compiling thread, if any
  bool Asking = false;
  // Loops and frequencies of the last caller that was looked at.
  std::unique_ptr<FunctionShape> Shape;
  const llvm::Function *ShapeOf = nullptr;
  uint64_t ShapeEpoch = 0;
  /// Those of native features in use, with what they read.
  std::map<std::shared_ptr<const FeatureSet>, std::unique_ptr<FeatureFiller>>
      Fillers;

  ~PyAdvisor() { end(); }
  /// Makes the calling thread the compiling one, and reserves the runner, until
  /// end(). Raises RunnerError if the runner is in use.
  void begin();
  /// Does nothing unless begin() has reserved the runner.
  void end();
  template <typename Function> void eachObject(Function F) {
    for (nb::object *O : {&Evaluate, &SwitchContext, &EvaluateBatch, &Exception,
                          &FallbackException, &CheckNames, &Locate})
      F(*O);
    for (nb::object &Fill : Fills)
      F(Fill);
    for (auto &[Name, Store, Absent] : Stores) {
      F(Store);
      F(Absent);
    }
  }
  const FunctionShape &shapeOf(llvm::Function &F);
  FeatureFiller &fillerOf(const NativeFeature &F);
  /// Records a Python exception as the session's failure.
  void noteException(FailureKind K, nb::python_error &E);
};

/// Runs \p Body, which calls into Python, with the GIL. Exceptions must not
/// cross LLVM's frames: an exception becomes the session's failure, and the
/// result is false.
bool guarded(PyAdvisor &A, FailureKind K,
             const std::function<bool()> &Body) noexcept;

/// A bool for a Flag, else a number.
nb::object pythonAdvice(PyAdvisor &A, Advice Answer);

/// The advice as a Python number of its tensor's type.
nb::object adviceOf(const TensorSpec &Spec, Advice A);

/// Whether \p Value is a passpilot error that ends its runner for good.
bool isFatal(nb::handle Value) noexcept;
/// Whether \p Value is a KeyboardInterrupt or SystemExit.
bool isInterrupt(nb::handle Value);

} // namespace passpilot
