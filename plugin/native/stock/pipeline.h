// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A pipeline of LLVM's in somebody else's compiler: its inline advisor and its
// passes in Python, from the first pass to the end of its analysis managers.

#ifndef PASSPILOT_STOCK_PIPELINE_H
#define PASSPILOT_STOCK_PIPELINE_H

#include "../loaded/python.h"
#include "llvm/Passes/PassBuilder.h"

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

/// Reports an error where there is no compilation yet: ends the tool, or, where
/// that runs several at a time, each of them.
void refusePipeline(llvm::PassBuilder &PB, const std::string &Text);

/// Lets \p PB's pipelines be advised as the options say.
llvm::Error registerPipeline(llvm::PassBuilder &PB);

} // namespace passpilot

#endif
