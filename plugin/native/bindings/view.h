// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Views of the compiler's state, each valid during one decision.

#ifndef PASSPILOT_BINDINGS_VIEW_H
#define PASSPILOT_BINDINGS_VIEW_H

#include "py_advisor.h"

#include <map>
#include <string>

namespace passpilot {

/// A policy may keep a view, and the view keeps the advisor, which keeps the
/// policy: the collector must see the cycle. \p T has a member Owner.
template <typename T>
int traverseView(PyObject *Self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(Self));
  if (nb::inst_ready(Self))
    Py_VISIT(nb::inst_ptr<T>(Self)->Owner.ptr());
  return 0;
}
template <typename T> int clearView(PyObject *Self) {
  nb::inst_ptr<T>(Self)->Owner.reset();
  return 0;
}
template <typename T>
inline PyType_Slot ViewSlots[] = {
    {Py_tp_traverse, reinterpret_cast<void *>(traverseView<T>)},
    {Py_tp_clear, reinterpret_cast<void *>(clearView<T>)},
    {0, nullptr}};

/// Makes the view of the present decision of an advisor, which \p Owner keeps
/// alive.
using SiteMaker = nb::object (*)(nb::object Owner, PyAdvisor &A);
/// That of each of LLVM's decision points, by name.
std::map<std::string, SiteMaker> &siteMakers();

/// Part of the compiler's state, valid during one decision of one advisor.
struct View {
  nb::object Owner; ///< the PyAdvisor, kept alive
  PyAdvisor *A;
  uint64_t Ordinal;
  Question *Asked;

  View(nb::object Owner, PyAdvisor &A)
      : Owner(std::move(Owner)), A(&A), Ordinal(A.Session->ordinal()),
        Asked(A.Session->current()) {}
  /// The question, unless its decision is over: raises StaleViewError then.
  Question &question(const char *What) const;
};

} // namespace passpilot

#endif
