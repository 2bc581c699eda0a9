// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "inline_point.h"

using namespace mlir;

namespace passpilot {

static std::vector<TensorSpec> table() {
  std::vector<TensorSpec> Rows;
  auto Add = [&Rows](const std::string &Name) {
    Rows.push_back({Name, ScalarType::Int64, {1}});
  };
  for (const char *Name :
       {"arguments", "constant_arguments", "results", "loop_depth",
        "region_depth", "callee_operations", "callee_blocks",
        "callee_region_depth", "callee_loops", "callee_calls"})
    Add(Name);
  for (std::string_view Name : MLIRDialects)
    Add("callee_" + std::string(Name) + "_operations");
  for (const char *Name :
       {"callee_other_operations", "callee_uses", "callee_is_private",
        "callee_is_recursive", "callee_height", "callee_component_size",
        "caller_operations", "caller_blocks", "caller_calls", "caller_uses",
        "caller_is_private", "caller_height", "functions"})
    Add(Name);
  return Rows;
}

const Point &mlirInlinePoint() {
  static const Point P{
      "mlir-inline",
      table(),
      TensorSpec{"inlining_decision_default", ScalarType::Int64, {1}},
      TensorSpec{"inlining_decision", ScalarType::Int64, {1}},
      {}};
  return P;
}

namespace {

/// Writes the features in order.
class Row {
public:
  explicit Row(Session &S) : S(S) {}
  void operator()(int64_t Value) {
    *static_cast<int64_t *>(S.feature(Next++)) = Value;
  }

private:
  Session &S;
  size_t Next = 0;
};

} // namespace

void observe(const MLIRCallSite &Site, CallGraphSummary &Graph, Session &S) {
  Operation *Call = Site.Call;
  int64_t Constants = 0, Loops = 0, Depth = 1;
  for (Value Operand : Call->getOperands())
    if (Operation *Owner = Operand.getDefiningOp())
      Constants += Graph.kindOf(Owner->getName()).Constant;
  for (Operation *Up = Call->getParentOp(); Up && Up != Site.Caller.Function;
       Up = Up->getParentOp(), ++Depth)
    Loops += Graph.kindOf(Up->getName()).Loop;

  const Contents &Callee = Graph.contents(Site.Callee);
  Graph.contents(Site.Caller); // makes the caller's numbers current
  Row Add(S);
  Add(Call->getNumOperands());
  Add(Constants);
  Add(Call->getNumResults());
  Add(Loops);
  Add(Depth);
  Add(Callee.Operations);
  Add(Callee.Blocks);
  Add(Callee.Depth);
  Add(Callee.Loops);
  Add(Callee.Calls);
  for (int64_t Count : Callee.OfDialect)
    Add(Count);
  Add(Site.Callee.Uses);
  Add(Site.Callee.Discardable);
  Add(Site.Callee.Recursive);
  Add(Site.Callee.Height);
  Add(Site.Callee.ComponentSize);
  Add(Site.Caller.Operations);
  Add(Site.Caller.Blocks);
  Add(Site.Caller.Calls);
  Add(Site.Caller.Uses);
  Add(Site.Caller.Discardable);
  Add(Site.Caller.Height);
  Add(Graph.functions(Site.Caller));
}

DecisionPlace InlineQuestion::place() {
  DecisionPlace P;
  P.Caller = Site.Caller.Name;
  P.Callee = Site.Callee.Name;
  Operation *Call = Site.Call;
  if (auto Place = Call->getLoc()->findInstanceOf<FileLineColRange>()) {
    const StringRef File = Place.getFilename();
    P.File = {File.data(), File.size()};
    P.Line = Place.getStartLine();
    P.Column = Place.getStartColumn();
  }
  return P;
}

Operation *InlineQuestion::operation(StringRef Part) const {
  if (Part == "call")
    return Site.Call;
  return Part == "caller" ? Site.Caller.Function : Site.Callee.Function;
}

std::string InlineQuestion::irOf(const std::string &Part) {
  std::string Text;
  llvm::raw_string_ostream OS(Text);
  // Numbering the whole module at every decision would be slow.
  operation(Part)->print(OS, OpPrintingFlags().useLocalScope());
  return Text;
}

} // namespace passpilot
