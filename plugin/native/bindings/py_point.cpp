// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Binds tensor specs, domains and decision points.

#include "core.h"

#include "../llvm/points.h"
#include "../runtime/point.h"

namespace passpilot {

namespace {

ScalarType scalarTypeOf(const std::string &Name) {
  for (int T = 1; T <= static_cast<int>(ScalarType::UInt64); ++T)
    if (Name == numpyName(static_cast<ScalarType>(T)))
      return static_cast<ScalarType>(T);
  throw nb::value_error(
      ("tensor: expected a scalar type, got " + Name).c_str());
}

void bindTensorSpec(nb::module_ &M) {
  nb::class_<TensorSpec>(M, "TensorSpec",
                         "Name, numpy's type name and shape of a tensor.")
      .def(
          "__init__",
          [](TensorSpec *S, std::string Name, const std::string &Type,
             std::vector<int64_t> Shape) {
            new (S) TensorSpec{std::move(Name), scalarTypeOf(Type),
                               std::move(Shape)};
          },
          nb::arg("name"), nb::arg("dtype"), nb::arg("shape"))
      .def_ro("name", &TensorSpec::Name)
      .def_prop_ro("dtype", [](TensorSpec &S) { return numpyName(S.Type); })
      .def_ro("shape", &TensorSpec::Shape);
}

void bindDomain(nb::module_ &M) {
  nb::class_<Domain>(M, "Domain", "The answers that a decision point accepts.")
      .def_static("flag", [] { return Domain{}; })
      .def_static(
          "choice",
          [](int64_t Count, std::string Mask) {
            return Domain{DomainKind::Choice, Count, std::move(Mask)};
          },
          nb::arg("count"), nb::arg("mask"))
      .def_static(
          "number",
          [](double Low, double High) {
            return Domain{DomainKind::Number, 0, "", Low, High};
          },
          nb::arg("low"), nb::arg("high"))
      .def_prop_ro(
          "expected", [](Domain &D) { return D.expected(); },
          "Describes the accepted answers.")
      .def_ro("mask", &Domain::Mask,
              "The mask's name; empty if there is none.");
}

} // namespace

void bindPoint(nb::module_ &M) {
  bindTensorSpec(M);
  bindDomain(M);
  nb::class_<Point>(M, "PointSpec",
                    "A decision point: its own features, the default decision, "
                    "the advice and its domain.")
      .def(
          "__init__",
          [](Point *P, std::string Name, std::vector<TensorSpec> Features,
             TensorSpec Default, TensorSpec Advice, Domain D) {
            new (P) Point{std::move(Name), std::move(Features),
                          std::move(Default), std::move(Advice), std::move(D)};
          },
          nb::arg("name"), nb::arg("features"), nb::arg("default"),
          nb::arg("advice"), nb::arg("domain"))
      .def_ro("name", &Point::Name)
      .def_ro("features", &Point::Features)
      .def_ro("default", &Point::Default)
      .def_ro("advice", &Point::Decision)
      .def_ro("domain", &Point::Domain);
  M.def(
      "point",
      [](const std::string &Name) {
        const HookedPoint *Known = findHooked(Name);
        if (!Known)
          throw nb::value_error(
              ("decision point: expected one of LLVM's, got " + Name).c_str());
        return Known->Table();
      },
      nb::arg("name"), "Returns LLVM's decision point of that name.");
}

} // namespace passpilot
