// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks the runner about the calls that MLIR's inliner may inline, and follows
// the inliner's changes.

#pragma once

#include "inline_point.h"
#include "legality.h"

#include "mlir/Transforms/Inliner.h"

namespace passpilot {

/// One run of the inliner.
class Inlining {
public:
  Inlining(Session &S, mlir::Operation *Root, mlir::CallGraph &Graph)
      : S(S), Graph(Graph), Summary(Root, Graph), Legal(Root->getContext()),
        Where(Root->getLoc()) {}

  /// The inliner's question; the answer takes earlier inlining into account.
  /// An exception fails the session.
  bool wants(const mlir::Inliner::ResolvedCall &Call);
  /// Called when the inliner inlines the call that was just decided.
  void inlining(bool Moved);
  void simplified(mlir::Operation *Function) { Summary.simplified(Function); }

  /// Asks about all calls at once, as they are now, and marks the refused
  /// ones. Returns false if there is nothing to inline.
  bool markRefused();
  static bool isMarked(mlir::Operation *Call);
  static void unmarkAll(mlir::Operation *Root);

  /// The location of the call whose decision failed; else of the root.
  mlir::Location where() const { return Where; }

private:
  Session &S;
  mlir::CallGraph &Graph;
  CallGraphSummary Summary;
  Legality Legal;
  mlir::Location Where;
  FunctionSummary *Waiting = nullptr, *Into = nullptr;
  mlir::Operation *Replaced = nullptr;

  bool decide(const mlir::Inliner::ResolvedCall &Call);
  /// Returns nothing if the call cannot be inlined, or after a failure.
  std::optional<bool> ask(const mlir::Inliner::ResolvedCall &Call);
};

} // namespace passpilot
