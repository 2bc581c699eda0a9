// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "py_failure.h"

#include "core.h"
#include "python_error.h"

namespace passpilot {

namespace {

/// The exception's traceback refers to frames that refer to the failure; the
/// garbage collector must see the cycle.
template <typename T> int traverse(PyObject *Self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(Self));
  if (nb::inst_ready(Self))
    Py_VISIT(nb::inst_ptr<T>(Self)->Exception.ptr());
  return 0;
}

template <typename T> int clear(PyObject *Self) {
  nb::inst_ptr<T>(Self)->Exception.reset();
  return 0;
}

template <typename T>
PyType_Slot Slots[] = {{Py_tp_traverse, reinterpret_cast<void *>(traverse<T>)},
                       {Py_tp_clear, reinterpret_cast<void *>(clear<T>)},
                       {0, nullptr}};

nb::object orNone(const nb::object &Exception) {
  return Exception.is_valid() ? Exception : nb::none();
}

bool isRaised(FailureKind K) {
  return K == FailureKind::Python || K == FailureKind::Default ||
         K == FailureKind::Feature || K == FailureKind::Interrupt;
}

} // namespace

nb::object failureOf(const Failure &F, const nb::object &Exception) {
  if (!F)
    return nb::none();
  return nb::cast(
      PyFailure{F, isRaised(F.Kind) ? orNone(Exception) : nb::none()});
}

nb::object failureOf(const std::optional<PassFailure> &F,
                     const nb::object &Exception) {
  return F ? nb::cast(PyPassFailure{*F, orNone(Exception)}) : nb::none();
}

void bindFailure(nb::module_ &M) {
  nb::enum_<FailureKind>(M, "FailureKind",
                         "The kind of a failure at a decision.")
      .value("MODEL", FailureKind::Model)
      .value("PYTHON", FailureKind::Python)
      .value("ADVICE", FailureKind::Advice)
      .value("FEATURE", FailureKind::Feature)
      .value("LOG", FailureKind::Log)
      .value("DEFAULT", FailureKind::Default)
      .value("INTERRUPT", FailureKind::Interrupt);
  nb::class_<PyFailure>(M, "Failure", nb::type_slots(Slots<PyFailure>),
                        "A failure at a decision.")
      .def_prop_ro("kind", [](PyFailure &F) { return F.What.Kind; })
      .def_prop_ro("text", [](PyFailure &F) { return text(F.What.Text); })
      .def_prop_ro(
          "where", [](PyFailure &F) { return text(F.What.Where); },
          "The decision, in the form used in messages.")
      .def_prop_ro(
          "exception", [](PyFailure &F) { return F.Exception; },
          nb::sig("def exception(self) -> BaseException | None"),
          "The Python exception that caused it, or None.");
  nb::class_<PyPassFailure>(
      M, "PassFailure", nb::type_slots(Slots<PyPassFailure>),
      "A failure in a pass in Python, which ended the compilation.")
      .def_prop_ro(
          "name", [](PyPassFailure &F) { return F.What.Pass; },
          "The pass's name.")
      .def_prop_ro("unit", [](PyPassFailure &F) { return text(F.What.Unit); })
      .def_prop_ro("text", [](PyPassFailure &F) { return text(F.What.Text); })
      .def_prop_ro(
          "exception", [](PyPassFailure &F) { return F.Exception; },
          nb::sig("def exception(self) -> BaseException | None"),
          "The Python exception that caused it, or None.");
}

} // namespace passpilot
