// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "py_failure.h"

#include "core.h"
#include "gc.h"
#include "python_error.h"

namespace passpilot {

namespace {

nb::object orNone(const nb::object &Exception) {
  return Exception.is_valid() ? Exception : nb::none();
}

bool isRaised(FailureKind K) {
  return K == FailureKind::Python || K == FailureKind::Default ||
         K == FailureKind::Feature || K == FailureKind::Interrupt;
}

} // namespace

std::optional<PyFailure> failureOf(const Failure &F,
                                   const nb::object &Exception) {
  if (!F)
    return std::nullopt;
  return PyFailure{F, isRaised(F.Kind) ? orNone(Exception) : nb::none()};
}

std::optional<PyPassFailure> failureOf(const std::optional<PassFailure> &F,
                                       const nb::object &Exception) {
  return F ? std::optional(PyPassFailure{*F, orNone(Exception)}) : std::nullopt;
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
  nb::class_<PyFailure>(M, "Failure", nb::type_slots(GCSlots<PyFailure>),
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
      M, "PassFailure", nb::type_slots(GCSlots<PyPassFailure>),
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
