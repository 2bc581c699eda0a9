// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensor specs, domains and decision points as tuples, which Python gives and
// takes.

#ifndef PASSPILOT_BINDINGS_ROWS_H
#define PASSPILOT_BINDINGS_ROWS_H

#include "../runtime/point.h"
#include "nanobind_all.h"

#include <tuple>

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

} // namespace passpilot

#endif
