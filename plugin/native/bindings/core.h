// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the binding files share. One file per noun; no logic here.

#ifndef PASSPILOT_BINDINGS_CORE_H
#define PASSPILOT_BINDINGS_CORE_H

#include "../hosted/module.h"
#include "../llvm/call_site.h"
#include "../llvm/points.h"
#include "../llvm/register_allocation.h"
#include "../runtime/session.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <tuple>

namespace nb = nanobind;

namespace passpilot {

/// A tensor spec as Python gives and takes it: name, numpy's type name, shape.
using SpecRow = std::tuple<std::string, std::string, std::vector<int64_t>>;

/// A domain: kind, count, mask's name, low, high.
using DomainRow = std::tuple<std::string, int64_t, std::string, double, double>;

/// A decision point: name, own features, default decision, advice, domain.
using PointRow =
    std::tuple<std::string, std::vector<SpecRow>, SpecRow, SpecRow, DomainRow>;

TensorSpec specOf(const SpecRow &Row);
SpecRow rowOf(const TensorSpec &Spec);
std::vector<SpecRow> rowsOf(const std::vector<TensorSpec> &Specs);

/// Throws for a kind that there is not.
Domain domainOf(const DomainRow &Row);
Point pointOf(const PointRow &Row);
/// An advice as Python has it: by the type of its tensor.
nb::object adviceOf(const TensorSpec &Spec, Advice A);

/// A numpy view of tensor \p I of \p Block, which it keeps alive.
nb::object viewOf(const std::shared_ptr<TensorBlock> &Block, size_t I,
                  bool Writable);
/// A read-only numpy view of the bytes of the tensors [0, Count).
nb::object frameOf(const std::shared_ptr<TensorBlock> &Block, size_t Count);

/// A runner in C++ that Python can hold and call.
struct NativeRunner {
  std::shared_ptr<Runner> Impl;
  std::vector<const void *> Inputs;
  nb::object Frame; ///< keeps what Inputs point into
};

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

/// Whether the interpreter is about to end: its GIL must not be asked for.
bool interpreterEnds();

/// Gives the GIL up while it lives. Kept once the interpreter is about to end,
/// which waits for those who have given it up: whoever asked an ended
/// interpreter for it would be torn out of C++.
class ReleasedGIL {
public:
  ReleasedGIL();
  ~ReleasedGIL();
  ReleasedGIL(const ReleasedGIL &) = delete;

private:
  std::optional<nb::gil_scoped_release> Released;
};

/// Python text of bytes that need not be UTF-8.
nb::str text(const std::string &S);

/// Raises \p Name of passpilot.plugin.errors.
[[noreturn]] void raiseError(const char *Name, const std::string &Text);

/// An integer constant as Python has it: signed, and i1 true as 1; else None.
nb::object integerOf(const llvm::Value &V);

/// The module; raises InputError while another thread compiles it.
HostedModule &readable(HostedModule &H);

void bindModule(nb::module_ &M);
void bindPasses(nb::module_ &M);
void bindRunner(nb::module_ &M);
void bindAdvisor(nb::module_ &M);
void bindPassQuestion(nb::class_<PyAdvisor> &C);
void bindCallSite(nb::module_ &M);
void bindLiveRange(nb::module_ &M);
void bindMlirContents(nb::module_ &M);

/// Type and repr of a wrong answer, shortened. Never raises.
std::string described(nb::handle Value);

/// Runs \p Body, which calls into Python, with the GIL. LLVM is below on the
/// stack, so nothing is thrown past this; what is becomes the session's
/// failure, and the result false.
bool guarded(PyAdvisor &A, FailureKind K, const std::function<bool()> &Body);

/// Of a flag a bool, else a number.
nb::object pythonAdvice(PyAdvisor &A, Advice Answer);

/// The views of the present decision; see current_site.
nb::object passSiteOf(PyAdvisor &A);
nb::object callSiteOf(nb::object Owner, PyAdvisor &A);
nb::object liveRangeSiteOf(nb::object Owner, PyAdvisor &A);

/// A policy may keep a view, and the view keeps the advisor, which keeps the
/// policy: the collector must see the cycle. \p T has a member Owner.
template <typename T>
int traverseView(PyObject *Self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(Self));
  if (nb::inst_ready(Self))
    Py_VISIT(nb::inst_ptr<T>(Self)->Owner.ptr());
  return 0;
}
template <typename T> int clearView(PyObject *Self) {
  nb::inst_ptr<T>(Self)->Owner.reset();
  return 0;
}
template <typename T>
inline PyType_Slot ViewSlots[] = {
    {Py_tp_traverse, reinterpret_cast<void *>(traverseView<T>)},
    {Py_tp_clear, reinterpret_cast<void *>(clearView<T>)},
    {0, nullptr}};

/// Part of the compiler's state, valid during one decision of one advisor.
struct View {
  nb::object Owner; ///< the PyAdvisor, kept alive
  PyAdvisor *A;
  uint64_t Ordinal;
  Question *Asked;

  View(nb::object Owner, PyAdvisor &A)
      : Owner(std::move(Owner)), A(&A), Ordinal(A.Session->ordinal()),
        Asked(A.Session->current()) {}
  /// The question, unless its decision is over: raises StaleViewError then.
  Question &question(const char *What) const;
};

} // namespace passpilot

#endif
