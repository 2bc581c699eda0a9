// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The decision point `mlir-inline`, as features/mlir/inline.py declares it, and
// its feature values for a call.

#pragma once

#include "../runtime/session.h"

#include "call_graph_summary.h"

namespace passpilot {

const Point &mlirInlinePoint();

/// A call that may be inlined.
struct MLIRCallSite {
  mlir::CallOpInterface Call;
  FunctionSummary &Caller, &Callee;
};

/// Writes the features into the session's buffers.
void observe(const MLIRCallSite &Site, CallGraphSummary &Graph, Session &S);

/// Whether to inline a call. The default is MLIR's: inline whatever is legal.
class InlineQuestion final : public Question {
public:
  explicit InlineQuestion(const MLIRCallSite &Site) : Site(Site) {}
  Advice defaultAdvice() override { return {1}; }
  DecisionPlace place() override;
  std::string irOf(const std::string &Part) override;
  /// The "call", "caller" or "callee".
  mlir::Operation *operation(llvm::StringRef Part) const;

private:
  const MLIRCallSite &Site;
};

} // namespace passpilot
