// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "py_advisor.h"

#include "interpreter.h"
#include "python_error.h"

namespace passpilot {

bool guarded(PyAdvisor &A, FailureKind K,
             const std::function<bool()> &Body) noexcept {
  if (interpreterEnds()) {
    A.Session->noteFailure(FailureKind::Interrupt, "the interpreter ends");
    return false;
  }
  nb::gil_scoped_acquire GIL;
  try {
    return Body();
  } catch (nb::python_error &E) {
    A.noteException(K, E);
  } catch (std::exception &E) {
    A.Session->noteFailure(K, E.what());
  }
  return false;
}

bool isFatal(nb::handle Value) noexcept {
  try {
    nb::object Type =
        nb::module_::import_("passpilot.plugin.errors").attr("RunnerError");
    return nb::isinstance(Value, Type) && Value.attr("fatal").is(Py_True);
  } catch (nb::python_error &) { // a property of the user's class has raised
    return false;
  }
}

bool isInterrupt(nb::handle Value) {
  return !PyErr_GivenExceptionMatches(Value.ptr(), PyExc_Exception);
}

void PyAdvisor::begin() {
  if (!Session->runner().reserve())
    raiseError("RunnerError", Point.Name + " advisor: expected a runner that "
                                           "is free, got one that another "
                                           "thread or compilation uses; make "
                                           "a runner for each");
  Exception = FallbackException = nb::object();
  Compiler = std::this_thread::get_id();
  Session->restart();
}

void PyAdvisor::end() {
  Shape.reset();
  ShapeOf = nullptr;
  if (std::exchange(Compiler, std::thread::id()) != std::thread::id())
    Session->runner().release();
}

const FunctionShape &PyAdvisor::shapeOf(llvm::Function &F) {
  if (!Shape || ShapeOf != &F || ShapeEpoch != Session->Epoch) {
    Shape = std::make_unique<FunctionShape>(F);
    ShapeOf = &F;
    ShapeEpoch = Session->Epoch;
  }
  return *Shape;
}

FeatureFiller &PyAdvisor::fillerOf(const NativeFeature &F) {
  std::unique_ptr<FeatureFiller> &Filler = Fillers[F.Set];
  if (!Filler)
    Filler = F.Set->filler();
  return *Filler;
}

nb::object adviceOf(const TensorSpec &Spec, Advice A) {
  return Spec.Type == ScalarType::Double ? nb::object(nb::float_(A.Number))
                                         : nb::object(nb::int_(A.Integer));
}

nb::object pythonAdvice(PyAdvisor &A, Advice Answer) {
  return A.Point.Domain.Kind == DomainKind::Flag
             ? nb::object(nb::bool_(Answer.Integer))
             : adviceOf(A.Point.Decision, Answer);
}

void PyAdvisor::noteException(FailureKind K, nb::python_error &E) {
  if (Session->stopped())
    return; // the first failure is the cause
  nb::object Value = nb::borrow(E.value());
  if (isInterrupt(Value))
    K = FailureKind::Interrupt;
  if (K == FailureKind::Default)
    Session->abandon(K, "Python raised");
  else if (!Session->noteFailure(K, "Python raised", isFatal(Value)))
    return; // the first failure is the cause
  Exception = Value;
  if (!FallbackException.is_valid())
    FallbackException = Value;
}

} // namespace passpilot
