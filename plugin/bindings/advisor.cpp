// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "core.h"

#include <algorithm>

namespace passpilot {

namespace {

/// Reads a Flag from what a policy returned: a bool, an int, or a numpy boolean
/// or integer of one element. False: it is none of these; -1 in \p Answer
/// stands for an integer that is out of any domain.
bool readFlag(PyObject *Value, int64_t &Answer) {
  if (PyBool_Check(Value)) {
    Answer = Value == Py_True;
    return true;
  }
  if (PyLong_Check(Value)) {
    int Overflow = 0;
    long long X = PyLong_AsLongLongAndOverflow(Value, &Overflow);
    Answer = Overflow ? -1 : X;
    return true;
  }
  if (!PyObject_CheckBuffer(Value) || PyBytes_Check(Value) ||
      PyByteArray_Check(Value) || PyMemoryView_Check(Value))
    return false;
  Py_buffer View;
  if (PyObject_GetBuffer(Value, &View, PyBUF_FORMAT | PyBUF_STRIDES) != 0) {
    PyErr_Clear();
    return false;
  }
  const char *F = View.format ? View.format : "B";
  bool Good = View.len == View.itemsize && F[0] && !F[1];
  if (Good) {
    switch (*F) {
    case '?':
      Answer = *static_cast<bool *>(View.buf);
      break;
    case 'b':
      Answer = *static_cast<signed char *>(View.buf);
      break;
    case 'B':
      Answer = *static_cast<unsigned char *>(View.buf);
      break;
    case 'h':
      Answer = *static_cast<short *>(View.buf);
      break;
    case 'H':
      Answer = *static_cast<unsigned short *>(View.buf);
      break;
    case 'i':
      Answer = *static_cast<int *>(View.buf);
      break;
    case 'I':
      Answer = *static_cast<unsigned *>(View.buf);
      break;
    case 'l':
      Answer = *static_cast<long *>(View.buf);
      break;
    case 'q':
      Answer = *static_cast<long long *>(View.buf);
      break;
    case 'L':
    case 'Q':
      Answer =
          *static_cast<unsigned long *>(View.buf) > 1
              ? -1
              : static_cast<int64_t>(*static_cast<unsigned long *>(View.buf));
      break;
    default:
      Good = false;
    }
  }
  PyBuffer_Release(&View);
  return Good;
}

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
template <typename F> bool guarded(PyInlineAdvisor &A, FailureKind K, F Body) {
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
  PythonRunner(PyInlineAdvisor &A, std::vector<TensorSpec> Inputs,
               TensorSpec Output)
      : Runner(std::move(Inputs), std::move(Output)), A(A) {}

  bool evaluate(const void *const *, void *Out) override {
    return guarded(A, FailureKind::Python, [&] {
      nb::object Value = nb::steal(PyObject_CallNoArgs(A.Evaluate.ptr()));
      if (!Value.is_valid())
        throw nb::python_error();
      auto &Answer = *static_cast<int64_t *>(Out);
      if (readFlag(Value.ptr(), Answer) && (Answer == 0 || Answer == 1))
        return true;
      A.Session->noteFailure(FailureKind::Advice,
                             "expected True, False, 0 or 1, got " +
                                 described(Value));
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
  PyInlineAdvisor &A;
};

} // namespace

const FunctionShape &PyInlineAdvisor::shapeOf(llvm::Function &F) {
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

void PyInlineAdvisor::noteException(FailureKind K, nb::python_error &E) {
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

void create(PyInlineAdvisor *Self, nb::object Native,
            const std::vector<SpecRow> &Inputs,
            const std::vector<std::pair<SpecRow, nb::object>> &Custom,
            bool DefaultOnError, double SizeBudget, bool Logged) {
  auto *A = new (Self) PyInlineAdvisor;
  std::shared_ptr<Runner> R;
  if (!Native.is_none()) {
    R = nb::cast<NativeRunner &>(Native).Impl;
  } else {
    std::vector<TensorSpec> Specs;
    for (const SpecRow &Row : Inputs)
      Specs.push_back(specOf(Row));
    R = std::make_shared<PythonRunner>(*A, std::move(Specs), inlineDecision());
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
  A->Session = std::make_unique<InlineSession>(
      std::move(R), std::move(Features),
      InlineConfig{DefaultOnError, SizeBudget}, Logged);
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

nb::dict countsOf(PyInlineAdvisor &A) {
  const InlineCounts &C = A.Session->Counts;
  nb::dict D;
  D["asked"] = C.Asked;
  D["accepted"] = C.Accepted;
  D["fallbacks"] = C.Fallbacks;
  D["not_askable"] = C.NotAskable;
  D["budget_hits"] = C.BudgetHits;
  D["ask_seconds"] = C.AskSeconds;
  D["default_seconds"] = C.DefaultSeconds;
  return D;
}

nb::dict viewsOf(PyInlineAdvisor &A, bool Writable) {
  nb::dict D;
  const auto &Block = A.Session->block();
  for (size_t I = 0; I < Block->specs().size(); ++I)
    D[Block->specs()[I].Name.c_str()] = viewOf(Block, I, Writable);
  return D;
}

nb::object frame(PyInlineAdvisor &A) {
  std::vector<std::string> Names;
  for (const TensorSpec &S : A.Session->runner().inputs())
    if (std::find(Names.begin(), Names.end(), S.Name) == Names.end())
      Names.push_back(S.Name);
  return frameOf(A.Session->block(), Names.size());
}

bool defaultDecision(PyInlineAdvisor &A) {
  if (!A.Session->current())
    raiseError("StaleViewError",
               "obs.default(): expected to be called within a decision, got a "
               "call outside");
  return A.Session->defaultDecision();
}

bool closeLog(PyInlineAdvisor &A) {
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
  auto *A = nb::inst_ptr<PyInlineAdvisor>(Self);
  Py_VISIT(A->Evaluate.ptr());
  Py_VISIT(A->SwitchContext.ptr());
  Py_VISIT(A->Exception.ptr());
  Py_VISIT(A->FallbackException.ptr());
  for (nb::object &F : A->Fills)
    Py_VISIT(F.ptr());
  return 0;
}

int clear(PyObject *Self) {
  auto *A = nb::inst_ptr<PyInlineAdvisor>(Self);
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
  nb::class_<PyInlineAdvisor>(M, "InlineAdvisor", nb::type_slots(Slots))
      .def("__init__", &create, nb::arg("native").none(), nb::arg("inputs"),
           nb::arg("custom"), nb::arg("default_on_error"),
           nb::arg("size_budget"), nb::arg("logged"),
           nb::sig("def __init__(self, native: NativeRunner | None, "
                   "inputs: Sequence[tuple[str, str, Sequence[int]]], "
                   "custom: Sequence[tuple[tuple[str, str, Sequence[int]], "
                   "collections.abc.Callable[[], None]]], "
                   "default_on_error: bool, size_budget: float, logged: bool) "
                   "-> None"))
      .def(
          "set_python",
          [](PyInlineAdvisor &A, nb::object Evaluate,
             nb::object SwitchContext) {
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
          [](PyInlineAdvisor &A, int FD) {
            A.Log = std::make_unique<DecisionLog>(FD, A.Session->logSpecs());
            A.Session->setLog(A.Log.get());
          },
          nb::arg("fd"),
          "Starts a decision log on a descriptor, which it takes over.")
      .def("close_log", &closeLog)
      .def("default", &defaultDecision,
           "LLVM's own decision for the current call site.")
      .def_prop_ro("counts", &countsOf,
                   nb::sig("def counts(self) -> dict[str, float]"))
      .def_prop_ro(
          "failure",
          [](PyInlineAdvisor &A) {
            return failureOf(A.Session->failure(), A.Exception);
          },
          nb::sig("def failure(self) -> tuple[str, str, str, BaseException | "
                  "None] | None"))
      .def_prop_ro(
          "first_fallback",
          [](PyInlineAdvisor &A) {
            return failureOf(A.Session->firstFallback(), A.FallbackException);
          },
          nb::sig("def first_fallback(self) -> "
                  "tuple[str, str, str, BaseException | None] | None"));
  M.def("inline_features", [] { return rowsOf(inlineFeatures()); });
  M.def("inline_decision", [] { return rowOf(inlineDecision()); });
  M.def("inline_default", [] { return rowOf(inlineDefault()); });
}

} // namespace passpilot
