// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The passes of one compilation, with the Python objects that they call.

#ifndef PASSPILOT_BINDINGS_PY_PASSES_H
#define PASSPILOT_BINDINGS_PY_PASSES_H

#include "../hosted/module.h"
#include "../llvm/user_pass.h"
#include "nanobind_all.h"

#include <deque>

namespace passpilot {

/// GIL: held to change any member but Passes, which the compiling thread uses.
struct PyPasses {
  PyPasses() : Own(std::make_unique<UserPasses>()), Passes(*Own) {}
  /// Those of somebody else's compiler, which outlive this.
  explicit PyPasses(UserPasses &Theirs) : Passes(Theirs) {}

  std::unique_ptr<UserPasses> Own;
  UserPasses &Passes;
  std::deque<nb::object> Runs; ///< at stable addresses
  nb::object Exception;        ///< what the failure is about, if Python raised
  HostedModule *Compiled = nullptr; ///< set by the compilation
  nb::object Borrowed;              ///< ... or lent by somebody else's

  /// The module that \p Unit belongs to.
  HostedModule &moduleOf(const PassUnit &Unit);
  /// Somebody else's compilation is over.
  void end();
};

} // namespace passpilot

#endif
