// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decisions of passes in Python: writes their values into the buffers and asks
// the advisor.

#include "pass_question.h"

#include "advice.h"
#include "core.h"
#include "interpreter.h"
#include "python_error.h"

#include <cmath>
#include <cstring>

namespace passpilot {

namespace {

/// A decision of a pass in Python, which supplies the default itself. Lifetime:
/// borrows the objects; the caller of ask() holds them.
class PassQuestion final : public Question {
public:
  PassQuestion(PyAdvisor &A, nb::handle Values, nb::handle Site,
               nb::handle Decide)
      : Site(Site), A(A), Values(Values), Decide(Decide) {}

  Advice defaultAdvice() override {
    Advice Answer{0};
    guarded(A, FailureKind::Default, [&] {
      nb::object Value = Decide(Values);
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
      std::tie(File, P.Line, P.Column, Caller, Callee) =
          nb::cast<std::tuple<std::string, unsigned, unsigned, std::string,
                              std::string>>(A.Locate(Site));
      P.File = File;
      P.Caller = Caller;
      P.Callee = Callee;
    } catch (std::exception &) {
      return {}; // a stale view has no place
    }
    return P;
  }

  std::string forbidden(Advice Answer) override {
    return "expected a column that " + A.Point.Domain.Mask + " allows, got " +
           A.Point.Domain.text(Answer);
  }

  const nb::handle Site;

private:
  PyAdvisor &A;
  const nb::handle Values, Decide;
  std::string File, Caller, Callee;
};

/// Guards a question to an advisor. Raises if another is in progress, or if
/// this thread compiles nothing.
class Asking {
public:
  explicit Asking(PyAdvisor &A) : A(A) {
    if (A.Compiler != std::this_thread::get_id())
      raiseError("InputError",
                 A.Point.Name + " advisor: expected to be asked by a pass, on "
                                "the thread that compiles, got a question from "
                                "elsewhere");
    if (A.Asking)
      raiseError("PolicyError",
                 A.Point.Name + " advisor: expected one question at a time, "
                                "got one within an answer");
    A.Asking = true;
  }
  ~Asking() { A.Asking = false; }

private:
  PyAdvisor &A;
};

/// Writes a Python number of \p Type; only plain int and float are handled
/// here. Returns false for anything else, or if it may not fit.
bool storeNumber(PyObject *Value, ScalarType Type, char *To) {
  if (Type == ScalarType::Int64) {
    if (!PyLong_Check(Value))
      return false;
    int Overflow = 0;
    const int64_t X = PyLong_AsLongLongAndOverflow(Value, &Overflow);
    std::memcpy(To, &X, sizeof X);
    return !Overflow;
  }
  if (Type != ScalarType::Double && Type != ScalarType::Float)
    return false;
  if (!PyFloat_Check(Value) && !PyLong_Check(Value))
    return false;
  const double X = PyFloat_AsDouble(Value);
  if (X == -1 && PyErr_Occurred()) {
    PyErr_Clear(); // an integer beyond the range of double
    return false;
  }
  const auto Y = static_cast<float>(X);
  if (Type == ScalarType::Double)
    std::memcpy(To, &X, sizeof X);
  else
    std::memcpy(To, &Y, sizeof Y);
  return Type == ScalarType::Double || !std::isinf(Y) || std::isinf(X);
}

/// Writes nested lists or tuples of the shape from dimension \p Dim on.
bool storeLists(PyObject *Value, const TensorSpec &S, size_t Dim, char *&To) {
  if (Dim == S.Shape.size()) {
    const bool Good = storeNumber(Value, S.Type, To);
    To += scalarSize(S.Type);
    return Good;
  }
  const bool IsList = PyList_Check(Value);
  if ((!IsList && !PyTuple_Check(Value)) ||
      (IsList ? PyList_Size : PyTuple_Size)(Value) != S.Shape[Dim])
    return false;
  auto *const At = IsList ? PyList_GetItem : PyTuple_GetItem; // borrowed
  for (int64_t I = 0; I < S.Shape[Dim]; ++I)
    if (!storeLists(At(Value, I), S, Dim + 1, To))
      return false;
  return true;
}

/// The value named \p Name; an invalid object if there is none.
nb::object valueOf(nb::handle Values, nb::handle Name) {
  if (PyDict_CheckExact(Values.ptr())) {
    PyObject *Value = PyDict_GetItemWithError(Values.ptr(), Name.ptr());
    return Value ? nb::borrow(Value) : nb::object();
  }
  nb::object Value = nb::steal(PyObject_GetItem(Values.ptr(), Name.ptr()));
  if (!Value.is_valid() && !PyErr_ExceptionMatches(PyExc_KeyError))
    throw nb::python_error();
  PyErr_Clear();
  return Value;
}

/// Writes the feature values into the buffers: plain numbers and lists
/// directly, all other values, and those that do not fit, by the feature's
/// Python function.
void store(PyAdvisor &A, nb::handle Values) {
  Py_ssize_t Given = 0;
  for (size_t I = 0; I < A.Stores.size(); ++I) {
    const TensorSpec &S = A.Point.Features[I];
    const auto &[Name, Store, Absent] = A.Stores[I];
    nb::object Value = valueOf(Values, Name);
    Given += Value.is_valid();
    if (!Value.is_valid())
      Value = Absent;
    if (Value.is_none())
      A.CheckNames(Values);
    auto *To = static_cast<char *>(A.Session->feature(I));
    if (!(S.elements() == 1 && storeNumber(Value.ptr(), S.Type, To)) &&
        !storeLists(Value.ptr(), S, 0, To))
      Store(Values);
  }
  if (Given != PyMapping_Size(Values.ptr()))
    A.CheckNames(Values);
}

nb::object ask(PyAdvisor &A, nb::handle Values, nb::handle Site,
               const std::string &Context, nb::handle Decide) {
  Asking Mine(A);
  store(A, Values);
  PassQuestion Q(A, Values, Site, Decide);
  std::optional<Advice> Answer;
  {
    ReleasedGIL NoGIL;
    A.Session->enterContext(Context);
    Answer = A.Session->ask(Q);
  }
  return Answer ? pythonAdvice(A, *Answer) : nb::none();
}

nb::object askAll(PyAdvisor &A, nb::list Rows, nb::list Sites,
                  std::vector<std::string> Contexts, nb::handle Decide) {
  Asking Mine(A);
  TensorBlock &Block = *A.Session->block();
  const size_t Words = Block.bytes() / sizeof(uint64_t);
  std::vector<PassQuestion> Questions;
  Questions.reserve(Rows.size());
  QuestionBatch B{{}, std::move(Contexts), {}};
  B.Features.resize(Rows.size() * Words);
  for (size_t I = 0; I < Rows.size(); ++I) {
    store(A, Rows[I]);
    std::memcpy(&B.Features[I * Words], Block.begin(), Block.bytes());
    Questions.emplace_back(A, Rows[I], Sites[I], Decide);
    B.Questions.push_back(&Questions[I]);
  }
  std::vector<Advice> Answers;
  {
    ReleasedGIL NoGIL;
    Answers = A.Session->askAll(B);
  }
  if (Answers.size() < Rows.size())
    return nb::none();
  nb::list Given;
  for (const Advice &Answer : Answers)
    Given.append(pythonAdvice(A, Answer));
  return Given;
}

} // namespace

/// A DecisionPlace that owns its texts.
struct PyPlace {
  std::string Caller, Callee, File;
  unsigned Line, Column;
};

static Question &questionOf(PyAdvisor &A) {
  Question *Q = A.Session->current();
  if (!Q)
    raiseError("StaleViewError", "obs.site: expected to be read within its "
                                 "decision, got a read outside");
  return *Q;
}

static PyPlace placeOf(PyAdvisor &A) {
  const DecisionPlace P = questionOf(A).place();
  return {std::string(P.Caller), std::string(P.Callee), std::string(P.File),
          P.Line, P.Column};
}

nb::object passSiteOf(PyAdvisor &A) {
  return nb::borrow(static_cast<PassQuestion *>(A.Session->current())->Site);
}

void bindPlace(nb::module_ &M) {
  nb::class_<PyPlace>(M, "DecisionPlace", "The place of a decision.")
      .def_ro("caller", &PyPlace::Caller)
      .def_ro("callee", &PyPlace::Callee)
      .def_ro("file", &PyPlace::File)
      .def_ro("line", &PyPlace::Line)
      .def_ro("column", &PyPlace::Column);
}

static void bindQuestion(nb::class_<PyAdvisor> &C) {
  C.def_prop_ro(
       "place", &placeOf,
       "The place of the current question, as far as the compiler knows it.")
      .def(
          "site_text",
          [](PyAdvisor &A, const std::string &Part) {
            return questionOf(A).irOf(Part);
          },
          nb::arg("part"),
          "The IR of the call, caller or callee of the current question, as "
          "text; empty if the compiler shows the IR itself.");
}

void bindPassQuestion(nb::class_<PyAdvisor> &C) {
  bindQuestion(C);
  C.def(
       "set_pass",
       [](PyAdvisor &A,
          std::vector<std::tuple<nb::object, nb::object, nb::object>> Stores,
          nb::object CheckNames, nb::object Locate) {
         if (Stores.size() != A.Point.Features.size())
           throw nb::value_error("set_pass: expected a row for each feature");
         A.Stores = std::move(Stores);
         A.CheckNames = std::move(CheckNames);
         A.Locate = std::move(Locate);
       },
       nb::arg("stores"), nb::arg("check_names"), nb::arg("locate"),
       nb::sig(
           "def set_pass(self, stores: Sequence[tuple[str, "
           "collections.abc.Callable[[object], None], object]], "
           "check_names: collections.abc.Callable[[collections.abc.Mapping"
           "[str, object]], object], "
           "locate: collections.abc.Callable[[object], tuple[str, int, int, "
           "str, str]]) -> None"),
       "Makes this the advisor of a pass in Python. stores: per feature its "
       "name, a function that stores it from all values if it is not a plain "
       "number or list, and the value if it is left out. check_names: raises "
       "if names are wrong. locate: gives file, line and column of a site, and "
       "caller and callee of a call; empty and 0 if unknown.")
      .def("begin", &PyAdvisor::begin,
           "Makes the calling thread the compiling one, for a compiler other "
           "than LLVM, until end().")
      .def("end", &PyAdvisor::end)
      .def_prop_ro(
          "session",
          [](PyAdvisor &A) {
            return reinterpret_cast<uintptr_t>(A.Session.get());
          },
          "The session's address, for another compiler in this process that "
          "asks it between begin() and end().")
      .def("ask", &ask, nb::arg("values"), nb::arg("site").none(),
           nb::arg("context"), nb::arg("decide"),
           nb::sig("def ask(self, values: collections.abc.Mapping[str, "
                   "object], site: object, context: str, decide: "
                   "collections.abc.Callable[[collections.abc.Mapping[str, "
                   "object]], bool | int | float]) -> bool | int | float | "
                   "None"),
           "Asks for advice on a decision of a pass in Python; None after a "
           "failure.")
      .def("ask_all", &askAll, nb::arg("rows"), nb::arg("sites"),
           nb::arg("contexts"), nb::arg("decide"),
           nb::sig("def ask_all(self, rows: list[collections.abc.Mapping[str, "
                   "object]], sites: list[object], contexts: Sequence[str], "
                   "decide: collections.abc.Callable[[collections.abc.Mapping["
                   "str, object]], bool | int | float]) -> list[bool | int | "
                   "float] | None"),
           "Asks for advice on several independent decisions; None after a "
           "failure.");
}

} // namespace passpilot
