// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The passes of one compilation, with the Python objects that they call.

#pragma once

#include "../hosted/module.h"
#include "../llvm/user_pass.h"
#include "nanobind_all.h"

#include <deque>

namespace passpilot {

/// GIL: held to change any member but Passes, which the compiling thread uses.
struct PyPasses {
  PyPasses() : Own(std::make_unique<UserPasses>()), Passes(*Own) {}
  /// Passes of a foreign compiler; it destroys them after this object.
  explicit PyPasses(UserPasses &Theirs) : Passes(Theirs) {}

  std::unique_ptr<UserPasses> Own;
  UserPasses &Passes;
  std::deque<nb::object> Runs; ///< at stable addresses
  nb::object Exception;        ///< the failure's exception, if Python raised
  HostedModule *Compiled = nullptr; ///< set by the compilation
  nb::object Borrowed;              ///< the module lent by a foreign compiler

  template <typename Function> void eachObject(Function F) {
    F(Exception); // its traceback refers to the compiler
    F(Borrowed);
    for (nb::object &Run : Runs)
      F(Run);
  }
  /// The module of \p Unit.
  HostedModule &moduleOf(const PassUnit &Unit);
  /// Call this when a foreign compilation is over.
  void end();
};

} // namespace passpilot
