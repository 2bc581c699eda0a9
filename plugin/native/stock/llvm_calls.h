// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions of Python's that the plugin for LLVM's tools calls.

#ifndef PASSPILOT_STOCK_LLVM_CALLS_H
#define PASSPILOT_STOCK_LLVM_CALLS_H

#include "../loaded/python.h"

namespace passpilot {

/// The functions of passes/stock/llvm_door.py. \p Passes is the address of a
/// UserPasses.
struct LLVMCalls : AdvisorCalls {
  /// Adds the pass that an element of pipeline text names, if it is one in
  /// Python.
  void (*Find)(Messages *Teller, size_t Passes, const char *Element);
  /// Who advises the passes at a point of theirs.
  void (*Advise)(Messages *Teller, size_t Passes, const char *Point,
                 const char *Runner, const char *Log, const char *OnError,
                 double Timeout);
  /// Tells why the passes have failed.
  void (*Explain)(Messages *Teller, size_t Passes);
  /// The compilation has ended.
  void (*EndPasses)(Messages *Teller, size_t Passes, bool Good, bool Stats);
};

} // namespace passpilot

#endif
