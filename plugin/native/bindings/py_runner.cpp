// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "py_runner.h"

#include "advice.h"
#include "python_error.h"

namespace passpilot {

namespace {

/// Calls a Python runner. GIL: taken for the call; the compiling thread runs
/// without it. Lifetime: A's session owns the runner, so A outlives it.
class PyRunner final : public Runner {
public:
  PyRunner(PyAdvisor &A, std::vector<TensorSpec> Inputs, TensorSpec Output)
      : Runner(std::move(Inputs), std::move(Output)), A(A),
        FrameBytes(TensorBlock(this->Inputs).bytes()) {}

  bool evaluate(const void *const *, void *Out) override {
    return guarded(A, FailureKind::Python, [&] {
      nb::object Value = nb::steal(PyObject_CallNoArgs(A.Evaluate.ptr()));
      if (!Value.is_valid())
        throw nb::python_error();
      const Domain &D = A.Session->point().Domain;
      Advice &Answer = *static_cast<Advice *>(Out);
      if (readAdvice(Value.ptr(), D, Answer) && D.inRange(Answer))
        return true;
      A.Session->noteFailure(
          FailureKind::Advice,
          std::string("expected ") +
              (D.Kind == DomainKind::Flag ? "True, False, " : "") +
              D.expected() + ", got " + described(Value));
      return false;
    });
  }

  bool evaluateBatch(const void *const *In, size_t Stride, size_t Count,
                     Advice *Out) override {
    return guarded(A, FailureKind::Python, [&] {
      std::string Frames; // its inputs are the block's first
      for (size_t I = 0; I < Count && FrameBytes; ++I)
        Frames.append(static_cast<const char *>(In[0]) + I * Stride,
                      FrameBytes);
      nb::object Answers = answersTo(Frames, Count);
      if (!Answers.is_valid())
        return false;
      if (const size_t Got = nb::len(Answers); Got != Count) {
        A.Session->noteFailure(FailureKind::Model,
                               "evaluate_batch(): expected " +
                                   std::to_string(Count) + " answers, got " +
                                   std::to_string(Got));
        return false;
      }
      const Domain &D = A.Session->point().Domain;
      for (size_t I = 0; I < Count; ++I)
        if (!readAdvice(nb::object(Answers[I]).ptr(), D, Out[I]) ||
            !D.inRange(Out[I]))
          return false;
      return true;
    });
  }

  Batching batching() const override { return A.Batches; }
  bool readsOthers() const override { return true; }

  void switchContext(std::string_view Name) override {
    guarded(A, FailureKind::Python, [&] {
      A.SwitchContext(text(Name));
      return true;
    });
  }

private:
  PyAdvisor &A;
  const size_t FrameBytes;

  /// Returns an invalid object if asking one by one may succeed.
  nb::object answersTo(const std::string &Frames, size_t Count) {
    try {
      return A.EvaluateBatch(nb::bytes(Frames.data(), Frames.size()), Count);
    } catch (nb::python_error &E) {
      if (isInterrupt(E.value()) || isFatal(E.value()))
        throw;
      return nb::object();
    }
  }
};

} // namespace

std::unique_ptr<Runner>
makePyRunner(PyAdvisor &A, std::vector<TensorSpec> Inputs, TensorSpec Output) {
  return std::make_unique<PyRunner>(A, std::move(Inputs), std::move(Output));
}

} // namespace passpilot
