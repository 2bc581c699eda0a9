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
  if (Session->stopped())
    return; // likewise
  nb::object Value = nb::borrow(E.value());
  if (!PyErr_GivenExceptionMatches(Value.ptr(), PyExc_Exception))
    K = FailureKind::Interrupt; // KeyboardInterrupt, SystemExit
  if (K == FailureKind::Default)
    Session->abandon(K, "Python raised");
  else if (!Session->noteFailure(K, "Python raised", isFatal(Value)))
    return; // the first failure is the cause
  Exception = Value;
  if (!FallbackException.is_valid())
    FallbackException = Value;
}

namespace {

void create(PyAdvisor *Self, const PointRow &Row, nb::object Native,
            const std::vector<SpecRow> &Inputs,
            const std::vector<std::pair<SpecRow, nb::object>> &Custom,
            bool DefaultOnError, double Limit, bool Logged) {
  auto *A = new (Self) PyAdvisor;
  A->Point = pointOf(Row);
  const Point &P = A->Point;
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
  case FailureKind::Default:
    return "default";
  case FailureKind::Interrupt:
    return "interrupt";
  }
  return "none";
}

nb::object failureOf(const Failure &F, const nb::object &Exception) {
  if (!F)
    return nb::none();
  const bool Raised =
      F.Kind == FailureKind::Python || F.Kind == FailureKind::Default ||
      F.Kind == FailureKind::Feature || F.Kind == FailureKind::Interrupt;
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

/// Of a flag a bool, else a number.
nb::object pythonAdvice(PyAdvisor &A, Advice Answer) {
  return A.Point.Domain.Kind == DomainKind::Flag
             ? nb::object(nb::bool_(Answer.Integer))
             : adviceOf(A.Point.Decision, Answer);
}

nb::object defaultDecision(PyAdvisor &A) {
  if (!A.Session->current())
    raiseError("StaleViewError",
               "obs.default(): expected to be called within a decision, got a "
               "call outside");
  const Advice D = A.Session->defaultAdvice();
  if (A.Session->failure().Kind == FailureKind::Default) {
    PyErr_SetObject(A.Exception.type().ptr(), A.Exception.ptr());
    throw nb::python_error();
  }
  return pythonAdvice(A, D);
}

nb::object currentSite(nb::object Owner) {
  auto &A = nb::cast<PyAdvisor &>(Owner);
  if (!A.Session->current())
    raiseError("StaleViewError", "obs.site: expected to be read within a "
                                 "decision, got a read outside");
  return A.Session->point().Name == "inline" ? callSiteOf(Owner, A)
                                             : liveRangeSiteOf(Owner, A);
}

/// A decision of a pass in Python, for which the pass itself has a default.
class PassQuestion final : public Question {
public:
  PassQuestion(PyAdvisor &A, nb::object &Default, nb::object &Location)
      : A(A), Default(Default), Location(Location) {}

  Advice defaultAdvice() override {
    Advice Answer{0};
    guarded(A, FailureKind::Default, [&] {
      nb::object Value = Default();
      if (!readAdvice(Value.ptr(), A.Point.Domain, Answer))
        A.Session->abandon(FailureKind::Default,
                           "expected a default, got " + described(Value));
      return true;
    });
    return Answer;
  }

  DecisionPlace place() override {
    DecisionPlace P;
    nb::gil_scoped_acquire GIL;
    try {
      if (nb::object Place = Location(); !Place.is_none()) {
        std::tie(File, P.Line, P.Column) =
            nb::cast<std::tuple<std::string, unsigned, unsigned>>(Place);
        P.File = File;
      }
    } catch (nb::python_error &) { // a view that has become stale: no place
    }
    return P;
  }

  std::string forbidden(Advice Answer) override {
    return "expected a column that " + A.Point.Domain.Mask + " allows, got " +
           A.Point.Domain.text(Answer);
  }

private:
  PyAdvisor &A;
  nb::object &Default, &Location;
  std::string File;
};

/// The advice on a decision; None after a failure.
nb::object ask(PyAdvisor &A, const std::string &Context, nb::object Default,
               nb::object Location) {
  PassQuestion Q(A, Default, Location);
  std::optional<Advice> Answer;
  {
    nb::gil_scoped_release NoGIL;
    if (A.Context != Context)
      A.Session->switchContext(A.Context.emplace(Context));
    Answer = A.Session->ask(Q);
  }
  return Answer ? pythonAdvice(A, *Answer) : nb::none();
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
      .def("__init__", &create, nb::arg("point"), nb::arg("native").none(),
           nb::arg("inputs"), nb::arg("custom"), nb::arg("default_on_error"),
           nb::arg("limit"), nb::arg("logged"),
           nb::sig("def __init__(self, point: tuple[str, Sequence[tuple[str, "
                   "str, Sequence[int]]], tuple[str, str, Sequence[int]], "
                   "tuple[str, str, Sequence[int]], tuple[str, int, str, "
                   "float, float]], native: NativeRunner | None, "
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
      .def("ask", &ask, nb::arg("context"), nb::arg("default"),
           nb::arg("location"),
           nb::sig("def ask(self, context: str, default: "
                   "collections.abc.Callable[[], bool | int | float], "
                   "location: collections.abc.Callable[[], tuple[str, int, "
                   "int] | None]) -> bool | int | float | None"),
           "The advice on a decision of a pass in Python, whose features are "
           "in the buffers; None after a failure.")
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
        const Point *Known = findPoint(Name);
        if (!Known)
          throw nb::value_error(
              ("decision point: expected one of LLVM's, got " + Name).c_str());
        const Point &P = *Known;
        return std::make_tuple(rowsOf(P.Features), rowOf(P.Default),
                               rowOf(P.Decision));
      },
      nb::arg("name"),
      "The features of a decision point, its default and its advice.");
}

} // namespace passpilot
