// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What has been counted in the functions of a module, kept up to date while
// MLIR's inliner works on them: counted again after each simplification, added
// up for each call that is inlined. The numbers are those of
// features/mlir/contents.py.

#ifndef PASSPILOT_MLIR_CALL_GRAPH_SUMMARY_H
#define PASSPILOT_MLIR_CALL_GRAPH_SUMMARY_H

#include "mlir/Analysis/CallGraph.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "llvm/ADT/MapVector.h"

#include <array>
#include <deque>
#include <mutex>
#include <string>

namespace passpilot {

/// The dialects whose operations are counted each for itself.
inline constexpr std::array Dialects = {"affine", "arith",  "cf",    "func",
                                        "linalg", "llvm",   "math",  "memref",
                                        "scf",    "tensor", "vector"};

/// What matters of an operation's name.
struct OperationKind {
  size_t Dialect = Dialects.size(); ///< its place in Dialects, or past them
  bool Loop = false, Call = false, Constant = false;
  bool Flat = false; ///< has no regions, and refers to no symbols
};

/// What there is in the body of a function.
struct Contents {
  int64_t Operations = 0, Blocks = 0, Depth = 1, Loops = 0, Calls = 0;
  std::array<int64_t, Dialects.size() + 1> OfDialect{};
  llvm::SmallMapVector<mlir::StringAttr, int64_t, 4> References;
  /// Regions of operations of this name are known to take all of it.
  std::optional<mlir::OperationName> Fits;
};

struct FunctionSummary {
  mlir::Operation *Function = nullptr;
  mlir::Operation *Table = nullptr; ///< the symbol table that it is in
  std::string Name;
  bool Discardable = false; ///< goes away with its last use
  bool Recursive = false;
  bool Erased = false;
  int64_t Uses = 0; ///< mentions of its symbol in functions
  int64_t Height = 0, ComponentSize = 1;
  size_t Component = 0;              ///< in the order of the inliner
  int64_t Operations = 0, Calls = 0; ///< by now
  passpilot::Contents Contents;      ///< when it was last counted, unless Stale
  bool Stale = true;
  bool Grown = false; ///< bodies have come into it since it was counted
};

class CallGraphSummary {
public:
  CallGraphSummary(mlir::Operation *Root, const mlir::CallGraph &Graph);

  FunctionSummary *find(const mlir::CallGraphNode *Node) const {
    return ByNode.lookup(Node);
  }
  OperationKind kindOf(mlir::OperationName Name);
  /// Counts what is in the function, if that is not known.
  const Contents &contents(FunctionSummary &F);
  /// How many functions with a body are in the symbol table of \p F.
  int64_t functions(const FunctionSummary &F) { return Functions[F.Table]; }

  /// The inliner looks at a call of \p Callee in \p Caller.
  void reached(FunctionSummary &Caller, FunctionSummary &Callee);
  /// The pipeline has been run on \p Function. Any thread, one per function.
  void simplified(mlir::Operation *Function);
  /// A call has been replaced by the body of \p Callee, which is lost to it if
  /// \p Moved.
  void inlined(FunctionSummary &Callee, FunctionSummary &Caller, bool Moved);

private:
  std::deque<FunctionSummary> All; // in the order of components
  llvm::DenseMap<const mlir::CallGraphNode *, FunctionSummary *> ByNode;
  llvm::DenseMap<mlir::Operation *, FunctionSummary *> ByFunction;
  llvm::DenseMap<std::pair<mlir::Operation *, mlir::StringAttr>,
                 FunctionSummary *>
      BySymbol;
  llvm::DenseMap<mlir::Operation *, int64_t> Functions;
  llvm::DenseMap<mlir::OperationName, OperationKind> Kinds;
  size_t Visited = 0; ///< of All
  std::mutex Mutex;   ///< for simplified()

  void add(const mlir::CallGraphNode *Node, size_t Component, size_t Size);
  void measureHeights(llvm::ArrayRef<mlir::CallGraphNode *> Component);
  void countUses();
  void use(const FunctionSummary &User, const Contents &C, int64_t Sign);
  void keep(mlir::Operation *Table, const Contents &Mentioned);
  void recount(FunctionSummary &F);
  void erase(FunctionSummary &F);
  void visitUntil(size_t Component);
  void look(mlir::Region &R, int64_t Depth, Contents &C);
  void refer(mlir::Operation &Op, const OperationKind &Kind, Contents &C);
};

} // namespace passpilot

#endif
