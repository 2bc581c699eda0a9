// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Views of the compiler's state, each valid during one decision.

#pragma once

#include "gc.h"
#include "py_advisor.h"

#include <map>
#include <string>

namespace passpilot {

/// Makes the view of an advisor's current decision; \p Owner keeps the advisor
/// alive.
using SiteMaker = nb::object (*)(nb::object Owner, PyAdvisor &A);
/// The makers of LLVM's decision points, by name.
std::map<std::string, SiteMaker> &siteMakers();

template <typename Site> nb::object makeSite(nb::object Owner, PyAdvisor &A) {
  return nb::cast(Site(std::move(Owner), A));
}

/// A part of the compiler's state, valid during one decision.
struct View {
  nb::object Owner; ///< the PyAdvisor, kept alive
  PyAdvisor *A;
  uint64_t Ordinal;
  Question *Asked;

  View(nb::object Owner, PyAdvisor &A)
      : Owner(std::move(Owner)), A(&A), Ordinal(A.Session->ordinal()),
        Asked(A.Session->current()) {}
  /// The question; raises StaleViewError once its decision is over.
  Question &question(const char *What) const;
  /// A policy may keep a view, which keeps the advisor, which keeps the policy.
  template <typename Function> void eachObject(Function F) { F(Owner); }
};

} // namespace passpilot
