// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "graph_features.h"

#include "../runtime/session.h"
#include "interference.h"
#include "live_range.h"
#include "live_range_question.h"
#include "llvm/CodeGen/RegisterClassInfo.h"
#include "llvm/CodeGen/VirtRegMap.h"

#include <algorithm>
#include <cstring>

using namespace llvm;

namespace passpilot {

namespace {

const LiveInterval &rangeOf(const FunctionAllocation &F, unsigned Number) {
  return F.LIS.getInterval(Register::index2VirtReg(Number));
}

/// Finds the graph once per question, and writes it tensor by tensor.
class GraphFiller final : public FeatureFiller {
public:
  explicit GraphFiller(const GraphShape &Shape) : Shape(Shape) {}
  std::string fill(const Session &S, size_t I, void *Buffer) override;

private:
  // Of ranges that are not in the graph, and of those that have no place.
  static constexpr int64_t NoRow = -1, LeftOut = -2;

  const GraphShape Shape;
  uint64_t Question = 0; ///< whose graph it is, from 1
  const InterferenceGraph *Graph = nullptr;
  std::vector<unsigned> Numbers;   ///< the virtual registers, by row
  std::vector<unsigned> Distances; ///< from the question, by row
  std::vector<int64_t> Rows;       ///< by virtual register
  std::vector<unsigned> NumbersLeftOut;
  int64_t EdgesWritten = 0, EdgesLeftOut = 0;

  void find(LiveRangeQuestion &Q);
  void add(unsigned Number, unsigned Distance);
  void addNeighbours(const FunctionAllocation &F, size_t Row);
  template <typename Use> void eachEdge(Use Found) const;
  void writeNodes(LiveRangeQuestion &Q, float *Out) const;
  void writeNode(const FunctionAllocation &F, size_t Row, float *Out) const;
  void writeEdges(int64_t *Out) const;
  void writeColumns(LiveRangeQuestion &Q, float *Out) const;
};

void GraphFiller::add(unsigned Number, unsigned Distance) {
  if (Number >= Rows.size())
    Rows.resize(Number + 1, NoRow);
  if (Rows[Number] != NoRow || !Graph->find(Number))
    return;
  if (Numbers.size() < Shape.Nodes) {
    Rows[Number] = static_cast<int64_t>(Numbers.size());
    Numbers.push_back(Number);
    Distances.push_back(Distance);
  } else {
    Rows[Number] = LeftOut;
    NumbersLeftOut.push_back(Number);
  }
}

/// Ranges that have a register come first: only these can be in the way.
void GraphFiller::addNeighbours(const FunctionAllocation &F, size_t Row) {
  const ArrayRef<unsigned> Neighbours = Graph->neighbours(Numbers[Row]);
  for (const bool Assigned : {true, false})
    for (unsigned Other : Neighbours)
      if (F.VRM.hasPhys(Register::index2VirtReg(Other)) == Assigned)
        add(Other, Distances[Row] + 1);
}

void GraphFiller::find(LiveRangeQuestion &Q) {
  for (const auto &All : {&Numbers, &NumbersLeftOut}) {
    for (unsigned Number : *All)
      Rows[Number] = NoRow;
    All->clear();
  }
  Distances.clear();
  Graph = &Q.Function.interference(Q);
  Q.eachRange([&](const LiveInterval &LI) { add(LI.reg().virtRegIndex(), 0); });
  for (size_t Row = 0; Row < Numbers.size(); ++Row)
    if (Distances[Row] < Shape.Hops)
      addNeighbours(Q.Function, Row);
  int64_t All = 0;
  eachEdge([&](int64_t, int64_t) { ++All; });
  EdgesWritten = std::min(All, static_cast<int64_t>(Shape.Edges));
  EdgesLeftOut = All - EdgesWritten;
}

/// Calls \p Found with the rows of each edge, in both directions, by row.
template <typename Use> void GraphFiller::eachEdge(Use Found) const {
  for (size_t Row = 0; Row < Numbers.size(); ++Row)
    for (unsigned Other : Graph->neighbours(Numbers[Row]))
      if (Other < Rows.size() && Rows[Other] >= 0)
        Found(static_cast<int64_t>(Row), Rows[Other]);
}

void GraphFiller::writeNode(const FunctionAllocation &F, size_t Row,
                            float *Out) const {
  const RangeState &State = *Graph->find(Numbers[Row]);
  const LiveInterval &LI = rangeOf(F, Numbers[Row]);
  auto Set = [&](NodeColumn C, double Value) {
    Out[static_cast<size_t>(C)] = static_cast<float>(Value);
  };
  int64_t Operands = 0;
  unsigned Depth = 0;
  for (const MachineOperand &O : F.MRI.reg_nodbg_operands(LI.reg())) {
    ++Operands;
    Depth = std::max(Depth, loopDepth(F, *O.getParent()->getParent()));
  }
  const bool Spillable = State.isSpillable();
  using N = NodeColumn;
  Set(N::Distance, Distances[Row]);
  Set(N::Weight, Spillable ? State.Weight : 0);
  Set(N::IsSpillable, Spillable);
  Set(N::Size, State.Size);
  Set(N::SpillCost, Spillable ? State.spillCost() : 0);
  Set(N::ClassSize, F.Classes.getNumAllocatableRegs(State.Class));
  Set(N::IsLocal, isLocal(F, LI));
  Set(N::IsHinted, F.VRM.hasKnownPreference(LI.reg()));
  Set(N::IsAssigned, State.Assigned.isValid());
  Set(N::Operands, static_cast<double>(Operands));
  Set(N::LoopDepth, Depth);
}

void GraphFiller::writeNodes(LiveRangeQuestion &Q, float *Out) const {
  std::fill_n(Out, Shape.Nodes * NodeColumns, 0.0F);
  for (size_t Row = 0; Row < Numbers.size(); ++Row, Out += NodeColumns)
    writeNode(Q.Function, Row, Out);
}

void GraphFiller::writeEdges(int64_t *Out) const {
  std::fill_n(Out, 2 * Shape.Edges, 0);
  int64_t *From = Out, *To = Out + Shape.Edges;
  int64_t Left = EdgesWritten;
  eachEdge([&](int64_t A, int64_t B) {
    if (Left-- > 0) {
      *From++ = A;
      *To++ = B;
    }
  });
}

void GraphFiller::writeColumns(LiveRangeQuestion &Q, float *Out) const {
  std::fill_n(Out, Shape.Columns * Shape.Nodes, 0.0F);
  for (size_t Row = 0; Row < Numbers.size(); ++Row)
    if (Distances[Row] < 2)
      Q.eachColumn(rangeOf(Q.Function, Numbers[Row]),
                   [&](size_t Column) { Out[Column * Shape.Nodes + Row] = 1; });
}

std::string GraphFiller::fill(const Session &S, size_t I, void *Buffer) {
  auto &Q = static_cast<LiveRangeQuestion &>(*S.current());
  if (Question != S.questions())
    find(Q);
  Question = S.questions();
  auto *Floats = static_cast<float *>(Buffer);
  auto *Integers = static_cast<int64_t *>(Buffer);
  switch (static_cast<GraphTensor>(I)) {
  case GraphTensor::Nodes:
    writeNodes(Q, Floats);
    break;
  case GraphTensor::Edges:
    writeEdges(Integers);
    break;
  case GraphTensor::Counts:
    Integers[0] = static_cast<int64_t>(Numbers.size());
    Integers[1] = EdgesWritten;
    break;
  case GraphTensor::LeftOut:
    Integers[0] = static_cast<int64_t>(NumbersLeftOut.size());
    Integers[1] = EdgesLeftOut;
    break;
  case GraphTensor::Columns:
    writeColumns(Q, Floats);
    break;
  }
  return {};
}

class GraphSet final : public FeatureSet {
public:
  explicit GraphSet(const GraphShape &Shape) : Shape(Shape) {}
  std::unique_ptr<FeatureFiller> filler() const override {
    return std::make_unique<GraphFiller>(Shape);
  }

private:
  const GraphShape Shape;
};

} // namespace

std::unique_ptr<FeatureSet> graphFeatures(const GraphShape &Shape) {
  return std::make_unique<GraphSet>(Shape);
}

} // namespace passpilot
