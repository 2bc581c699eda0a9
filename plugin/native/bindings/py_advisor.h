// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An advisor as Python configures it, with the Python objects that it keeps.

#ifndef PASSPILOT_BINDINGS_PY_ADVISOR_H
#define PASSPILOT_BINDINGS_PY_ADVISOR_H

#include "../llvm/call_site.h"
#include "../runtime/session.h"
#include "nanobind_all.h"

#include <functional>
#include <memory>
#include <thread>
#include <tuple>

namespace passpilot {

/// An advisor as Python configures it, with the objects it must keep.
/// GIL: held to change any member but Session, which the compiling thread uses.
struct PyAdvisor {
  passpilot::Point Point;
  std::unique_ptr<passpilot::Session> Session;
  nb::object Evaluate, SwitchContext; ///< of a Python runner; else none
  nb::object EvaluateBatch;           ///< likewise, where it has its own
  Batching Batches = Batching::None;  ///< ... and which questions that takes
  std::vector<nb::object> Fills;      ///< one per custom feature
  nb::object Exception;         ///< what failure() is about, if Python raised
  nb::object FallbackException; ///< likewise, the first fallback
  std::unique_ptr<DecisionLog> Log;
  // Of the point of a pass in Python: see pass_question.cpp.
  std::vector<std::tuple<nb::object, nb::object, nb::object>> Stores;
  nb::object CheckNames, Locate;
  std::thread::id Compiler; ///< who compiles; nobody between compilations
  bool Asking = false;
  // Loops and frequencies of the caller last looked at.
  std::unique_ptr<FunctionShape> Shape;
  const llvm::Function *ShapeOf = nullptr;
  uint64_t ShapeEpoch = 0;

  /// The calling thread compiles from here on, until end().
  void begin();
  void end();
  const FunctionShape &shapeOf(llvm::Function &F);
  /// Notes what Python raised in the session.
  void noteException(FailureKind K, nb::python_error &E);
};

/// Runs \p Body, which calls into Python, with the GIL. LLVM is below on the
/// stack, so nothing is thrown past this; what is becomes the session's
/// failure, and the result false.
bool guarded(PyAdvisor &A, FailureKind K, const std::function<bool()> &Body);

/// Of a flag a bool, else a number.
nb::object pythonAdvice(PyAdvisor &A, Advice Answer);

/// An advice as Python has it: by the type of its tensor.
nb::object adviceOf(const TensorSpec &Spec, Advice A);

/// Whether \p Value is an error of passpilot's that ends its runner for good.
bool isFatal(nb::handle Value);
/// KeyboardInterrupt, SystemExit.
bool isInterrupt(nb::handle Value);

} // namespace passpilot

#endif
