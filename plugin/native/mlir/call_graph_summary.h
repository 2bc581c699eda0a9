// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keeps the counted contents of a module's functions up to date while MLIR's
// inliner runs: recounts after each simplification, adds for each inlined
// call.

#pragma once

#include "contents.h"

#include "mlir/Analysis/CallGraph.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "llvm/ADT/MapVector.h"

#include <deque>
#include <mutex>
#include <string>

namespace passpilot {

/// The contents of a function's body.
struct Contents : MLIRCounts {
  llvm::SmallMapVector<mlir::StringAttr, int64_t, 4> References;
  /// Regions of operations of this name can take the whole body.
  std::optional<mlir::OperationName> Fits;
};

struct FunctionSummary {
  mlir::Operation *Function = nullptr;
  mlir::Operation *Table = nullptr; ///< the symbol table that contains it
  std::string Name;
  bool Discardable = false; ///< deleted with its last use
  bool Recursive = false;
  bool Erased = false;
  int64_t Uses = 0; ///< mentions of its symbol in functions
  int64_t Height = 0, ComponentSize = 1;
  size_t Component = 0; ///< position in the inliner's order
  /// The current numbers: those of Contents, and of all bodies since.
  int64_t Operations = 0, Blocks = 0, Calls = 0;
  passpilot::Contents Contents; ///< the last count, valid unless Stale
  bool Stale = true;
  bool Grown = false;   ///< bodies were inlined into it since the last count
  bool Inexact = false; ///< ... by a dialect that adds operations of its own
};

class CallGraphSummary {
public:
  CallGraphSummary(mlir::Operation *Root, const mlir::CallGraph &Graph);

  FunctionSummary *find(const mlir::CallGraphNode *Node) const {
    return ByNode.lookup(Node);
  }
  MLIRName kindOf(mlir::OperationName Name);
  /// Returns the counts, recounting if they are stale.
  const Contents &contents(FunctionSummary &F);
  /// The number of functions with a body in the symbol table of \p F.
  int64_t functions(const FunctionSummary &F) { return Functions[F.Table]; }

  /// Called when the inliner looks at a call of \p Callee in \p Caller.
  void reached(FunctionSummary &Caller, FunctionSummary &Callee);
  /// Called after simplifying \p Function. Any thread; one per function.
  void simplified(mlir::Operation *Function);
  /// Called when the body of \p Callee is about to replace \p Call; \p Moved:
  /// the body is moved out of \p Callee, not copied.
  void inlined(mlir::Operation *Call, FunctionSummary &Callee,
               FunctionSummary &Caller, bool Moved);

private:
  std::deque<FunctionSummary> All; // in the order of their components
  llvm::DenseMap<const mlir::CallGraphNode *, FunctionSummary *> ByNode;
  llvm::DenseMap<mlir::Operation *, FunctionSummary *> ByFunction;
  llvm::DenseMap<std::pair<mlir::Operation *, mlir::StringAttr>,
                 FunctionSummary *>
      BySymbol;
  llvm::DenseMap<mlir::Operation *, int64_t> Functions;
  llvm::DenseMap<mlir::OperationName, MLIRName> Kinds;
  size_t Visited = 0; ///< index into All
  std::mutex Mutex;   ///< held in simplified()

  void add(const mlir::CallGraphNode *Node, size_t Component, size_t Size);
  void measureHeights(llvm::ArrayRef<mlir::CallGraphNode *> Component);
  void countUses();
  void use(const FunctionSummary &User, const Contents &C, int64_t Sign);
  void keep(mlir::Operation *Table, const Contents &Mentioned);
  void recount(FunctionSummary &F);
  void erase(FunctionSummary &F);
  void visitUntil(size_t Component);
  void count(mlir::Operation *Op, Contents &C, int64_t Level = 1);
  void refer(mlir::Operation &Op, bool IsCall, Contents &C);
};

} // namespace passpilot
