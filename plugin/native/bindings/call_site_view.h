// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What Python sees of a call site that LLVM asks about.

#ifndef PASSPILOT_BINDINGS_CALL_SITE_VIEW_H
#define PASSPILOT_BINDINGS_CALL_SITE_VIEW_H

#include "view.h"

namespace passpilot {

/// The view of the present decision of \p A, which \p Owner keeps alive.
nb::object callSiteOf(nb::object Owner, PyAdvisor &A);

} // namespace passpilot

#endif
