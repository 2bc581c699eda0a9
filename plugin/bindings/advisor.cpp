// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "advice.h"
#include "core.h"

#include <algorithm>

namespace passpilot {

namespace {

/// Type and repr of a wrong answer, shortened; an object that cannot be shown
/// is named by its type alone. Never raises: LLVM is below on the stack.
std::string described(nb::handle Value) {
  std::string Type;
  try {
    Type = nb::cast<std::string>(Value.type().attr("__name__"));
    nb::object Text = nb::repr(Value);
    if (PyUnicode_GetLength(Text.ptr()) > 60)
      Text = nb::steal(PyUnicode_Substring(Text.ptr(), 0, 57)) + nb::str("...");
    Text = nb::steal(
        PyUnicode_AsEncodedString(Text.ptr(), "utf-8", "backslashreplace"));
    return (Value.is_none() ? "" : Type + " ") +
           nb::borrow<nb::bytes>(Text).c_str();
  } catch (std::exception &) {
    PyErr_Clear();
    return Type.empty() ? "an object" : Type;
  }
}

/// Runs \p Body, which calls into Python, with the GIL. LLVM is below on the
/// stack, so nothing is thrown past this; what is becomes the session's
/// failure, and the result false.
template <typename F> bool guarded(PyAdvisor &A, FailureKind K, F Body) {
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

/// Calls a Python runner. GIL: taken for the call; the compiling thread runs
/// without it. Lifetime: owned by the advisor's session, so A outlives it.
class PythonRunner final : public Runner {
public:
  PythonRunner(PyAdvisor &A, std::vector<TensorSpec> Inputs, TensorSpec Output)
      : Runner(std::move(Inputs), std::move(Output)), A(A) {}

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

  void switchContext(std::string_view Name) override {
    guarded(A, FailureKind::Python, [&] {
      A.SwitchContext(text(std::string(Name)));
      return true;
    });
  }

private:
  PyAdvisor &A;
};

} // namespace

const FunctionShape &PyAdvisor::shapeOf(llvm::Function &F) {
  if (!Shape || ShapeOf != &F || ShapeEpoch != Session->Epoch) {
    Shape = std::make_unique<FunctionShape>(F);
    ShapeOf = &F;
    ShapeEpoch = Session->Epoch;
  }
  return *Shape;
}

/// Whether \p Value is an error of passpilot's that ends its runner for good.
static bool isFatal(nb::handle Value) {
  nb::object Type =
      nb::module_::import_("passpilot.plugin.errors").attr("RunnerError");
  return nb::isinstance(Value, Type) && Value.attr("fatal").is(Py_True);
}

void PyAdvisor::noteException(FailureKind K, nb::python_error &E) {
  nb::object Value = nb::borrow(E.value());
  if (!PyErr_GivenExceptionMatches(Value.ptr(), PyExc_Exception))
    K = FailureKind::Interrupt; // KeyboardInterrupt, SystemExit
  if (!Session->noteFailure(K, "Python raised", isFatal(Value)))
    return; // the first failure is the cause
  Exception = Value;
  if (!FallbackException.is_valid())
    FallbackException = Value;
}

namespace {

void create(PyAdvisor *Self, const std::string &PointName, nb::object Native,
            const std::vector<SpecRow> &Inputs,
            const std::vector<std::pair<SpecRow, nb::object>> &Custom,
            bool DefaultOnError, double Limit, bool Logged) {
  const Point &P = pointOf(PointName);
  auto *A = new (Self) PyAdvisor;
  std::shared_ptr<Runner> R;
  if (!Native.is_none()) {
    R = nb::cast<NativeRunner &>(Native).Impl;
  } else {
    std::vector<TensorSpec> Specs;
    for (const SpecRow &Row : Inputs)
      Specs.push_back(specOf(Row));
    R = std::make_shared<PythonRunner>(*A, std::move(Specs), P.Decision);
  }
  std::vector<CustomFeature> Features;
  for (const auto &[Row, Fill] : Custom) {
    const size_t I = A->Fills.size();
    A->Fills.push_back(Fill);
    Features.push_back({specOf(Row), [A, I](void *) {
                          return guarded(*A, FailureKind::Feature, [&] {
                            A->Fills[I]();
                            return true;
                          });
                        }});
  }
  A->Session = std::make_unique<Session>(P, std::move(R), std::move(Features),
                                         DefaultOnError, Logged);
  A->Session->Limit = Limit;
}

const char *kindText(FailureKind K) {
  switch (K) {
  case FailureKind::None:
    return "none";
  case FailureKind::Model:
    return "model";
  case FailureKind::Python:
    return "python";
  case FailureKind::Advice:
    return "advice";
  case FailureKind::Feature:
    return "feature";
  case FailureKind::Log:
    return "log";
  case FailureKind::Interrupt:
    return "interrupt";
  }
  return "none";
}

nb::object failureOf(const Failure &F, const nb::object &Exception) {
  if (!F)
    return nb::none();
  const bool Raised = F.Kind == FailureKind::Python ||
                      F.Kind == FailureKind::Feature ||
                      F.Kind == FailureKind::Interrupt;
  return nb::make_tuple(kindText(F.Kind), text(F.Text), text(F.Where),
                        Raised && Exception.is_valid() ? Exception
                                                       : nb::none());
}

nb::dict countsOf(PyAdvisor &A) {
  const Counts &C = A.Session->Counts;
  nb::dict D;
  D["asked"] = C.Asked;
  D["accepted"] = C.Accepted;
  D["agreed"] = C.Agreed;
  D["compared"] = C.Compared;
  D["fallbacks"] = C.Fallbacks;
  D["not_askable"] = C.NotAskable;
  D["budget_hits"] = C.BudgetHits;
  D["ask_seconds"] = C.AskSeconds;
  D["default_seconds"] = C.DefaultSeconds;
  return D;
}

nb::dict viewsOf(PyAdvisor &A, bool Writable) {
  nb::dict D;
  const auto &Block = A.Session->block();
  for (size_t I = 0; I < Block->specs().size(); ++I)
    D[Block->specs()[I].Name.c_str()] = viewOf(Block, I, Writable);
  return D;
}

nb::object frame(PyAdvisor &A) {
  std::vector<std::string> Names;
  for (const TensorSpec &S : A.Session->runner().inputs())
    if (std::find(Names.begin(), Names.end(), S.Name) == Names.end())
      Names.push_back(S.Name);
  return frameOf(A.Session->block(), Names.size());
}

nb::object defaultDecision(PyAdvisor &A) {
  if (!A.Session->current())
    raiseError("StaleViewError",
               "obs.default(): expected to be called within a decision, got a "
               "call outside");
  const Advice D = A.Session->defaultAdvice();
  const Point &P = A.Session->point();
  return P.Domain.Kind == DomainKind::Flag ? nb::object(nb::bool_(D.Integer))
                                           : adviceOf(P.Decision, D);
}

nb::object currentSite(nb::object Owner) {
  auto &A = nb::cast<PyAdvisor &>(Owner);
  if (!A.Session->current())
    raiseError("StaleViewError", "obs.site: expected to be read within a "
                                 "decision, got a read outside");
  return A.Session->point().Name == "inline" ? callSiteOf(Owner, A)
                                             : liveRangeSiteOf(Owner, A);
}

bool closeLog(PyAdvisor &A) {
  A.Session->setLog(nullptr);
  const bool Good = !A.Log || A.Log->close();
  const std::string Error = A.Log ? A.Log->error() : "";
  A.Log.reset();
  if (!Good)
    raiseError("LogError", Error);
  return Good;
}

int traverse(PyObject *Self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(Self));
  if (!nb::inst_ready(Self))
    return 0;
  auto *A = nb::inst_ptr<PyAdvisor>(Self);
  Py_VISIT(A->Evaluate.ptr());
  Py_VISIT(A->SwitchContext.ptr());
  Py_VISIT(A->Exception.ptr());
  Py_VISIT(A->FallbackException.ptr());
  for (nb::object &F : A->Fills)
    Py_VISIT(F.ptr());
  return 0;
}

int clear(PyObject *Self) {
  auto *A = nb::inst_ptr<PyAdvisor>(Self);
  A->Evaluate.reset();
  A->SwitchContext.reset();
  A->Exception.reset();
  A->FallbackException.reset();
  for (nb::object &F : A->Fills)
    F.reset();
  return 0;
}

PyType_Slot Slots[] = {{Py_tp_traverse, reinterpret_cast<void *>(traverse)},
                       {Py_tp_clear, reinterpret_cast<void *>(clear)},
                       {0, nullptr}};

} // namespace

void bindAdvisor(nb::module_ &M) {
  nb::class_<PyAdvisor>(M, "Advisor", nb::type_slots(Slots))
      .def(
          "__init__", &create, nb::arg("point"), nb::arg("native").none(),
          nb::arg("inputs"), nb::arg("custom"), nb::arg("default_on_error"),
          nb::arg("limit"), nb::arg("logged"),
          nb::sig("def __init__(self, point: str, native: NativeRunner | None, "
                  "inputs: Sequence[tuple[str, str, Sequence[int]]], "
                  "custom: Sequence[tuple[tuple[str, str, Sequence[int]], "
                  "collections.abc.Callable[[], None]]], "
                  "default_on_error: bool, limit: float, logged: bool) "
                  "-> None"))
      .def(
          "set_python",
          [](PyAdvisor &A, nb::object Evaluate, nb::object SwitchContext) {
            A.Evaluate = std::move(Evaluate);
            A.SwitchContext = std::move(SwitchContext);
          },
          nb::arg("evaluate"), nb::arg("switch_context"),
          nb::sig("def set_python(self, evaluate: collections.abc.Callable[[], "
                  "object], switch_context: "
                  "collections.abc.Callable[[str], object]) -> None"),
          "What to call for a Python runner, once it is bound to the views.")
      .def("views", &viewsOf, nb::arg("writable"),
           nb::sig("def views(self, writable: bool) -> dict[str, "
                   "NDArray[numpy.integer | "
                   "numpy.floating]]"),
           "Numpy views of all tensors, by name.")
      .def("frame", &frame, nb::sig("def frame(self) -> NDArray[numpy.uint8]"),
           "The runner's inputs as one block of bytes.")
      .def(
          "open_log",
          [](PyAdvisor &A, int FD) {
            A.Log = std::make_unique<DecisionLog>(FD, A.Session->logSpecs());
            A.Session->setLog(A.Log.get());
          },
          nb::arg("fd"),
          "Starts a decision log on a descriptor, which it takes over.")
      .def("close_log", &closeLog)
      .def("default", &defaultDecision,
           nb::sig("def default(self) -> bool | int | float"),
           "LLVM's own decision for the current question.")
      .def_prop_ro("counts", &countsOf,
                   nb::sig("def counts(self) -> dict[str, float]"))
      .def_prop_ro(
          "failure",
          [](PyAdvisor &A) {
            return failureOf(A.Session->failure(), A.Exception);
          },
          nb::sig("def failure(self) -> tuple[str, str, str, BaseException | "
                  "None] | None"))
      .def_prop_ro(
          "first_fallback",
          [](PyAdvisor &A) {
            return failureOf(A.Session->firstFallback(), A.FallbackException);
          },
          nb::sig("def first_fallback(self) -> "
                  "tuple[str, str, str, BaseException | None] | None"));
  M.def("current_site", &currentSite, nb::arg("advisor"),
        nb::sig("def current_site(advisor: Advisor) -> "
                "CallSite | EvictionSite | PrioritySite"));
  M.def(
      "point",
      [](const std::string &Name) {
        const Point &P = pointOf(Name);
        return std::make_tuple(rowsOf(P.Features), rowOf(P.Default),
                               rowOf(P.Decision));
      },
      nb::arg("name"),
      "The features of a decision point, its default and its advice.");
}

} // namespace passpilot
