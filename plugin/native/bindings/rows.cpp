// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "rows.h"

namespace passpilot {

TensorSpec specOf(const SpecRow &Row) {
  const auto &[Name, Type, Shape] = Row;
  for (int T = 1; T <= static_cast<int>(ScalarType::UInt64); ++T)
    if (Type == numpyName(static_cast<ScalarType>(T)))
      return {Name, static_cast<ScalarType>(T), Shape};
  throw nb::value_error(
      ("tensor " + Name + ": expected a scalar type, got " + Type).c_str());
}

SpecRow rowOf(const TensorSpec &S) {
  return {S.Name, numpyName(S.Type), S.Shape};
}

std::vector<SpecRow> rowsOf(const std::vector<TensorSpec> &Specs) {
  std::vector<SpecRow> Rows;
  for (const TensorSpec &S : Specs)
    Rows.push_back(rowOf(S));
  return Rows;
}

Domain domainOf(const DomainRow &Row) {
  const auto &[Kind, Count, Mask, Low, High] = Row;
  const std::pair<const char *, DomainKind> Kinds[] = {
      {"flag", DomainKind::Flag},
      {"choice", DomainKind::Choice},
      {"number", DomainKind::Number}};
  for (const auto &[Name, K] : Kinds)
    if (Kind == Name)
      return {K, Count, Mask, Low, High};
  throw nb::value_error(
      ("domain: expected flag, choice or number, got " + Kind).c_str());
}

Point pointOf(const PointRow &Row) {
  const auto &[Name, Features, Default, Decision, D] = Row;
  std::vector<TensorSpec> Specs;
  for (const SpecRow &Each : Features)
    Specs.push_back(specOf(Each));
  return {Name, std::move(Specs), specOf(Default), specOf(Decision),
          domainOf(D)};
}

} // namespace passpilot
