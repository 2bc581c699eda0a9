// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The interference graph around a question of the register allocator, as
// tensors for graph networks. The Python twin is
// features/llvm/native/graph.py.

#pragma once

#include "../runtime/feature_set.h"

#include <cstdint>

namespace passpilot {

// What the tensor of nodes says about a live range: the name here, and in the
// Python twin.
#define PASSPILOT_NODE_COLUMNS(COLUMN)                                         \
  COLUMN(Distance, distance)                                                   \
  COLUMN(Weight, weight)                                                       \
  COLUMN(IsSpillable, is_spillable)                                            \
  COLUMN(Size, size)                                                           \
  COLUMN(SpillCost, spill_cost)                                                \
  COLUMN(ClassSize, class_size)                                                \
  COLUMN(IsLocal, is_local)                                                    \
  COLUMN(IsHinted, is_hinted)                                                  \
  COLUMN(IsAssigned, is_assigned)                                              \
  COLUMN(Operands, operands)                                                   \
  COLUMN(LoopDepth, loop_depth)

#define PASSPILOT_NAME(Name, ...) Name,
enum class NodeColumn : size_t { PASSPILOT_NODE_COLUMNS(PASSPILOT_NAME) Count };
#undef PASSPILOT_NAME
constexpr auto NodeColumns = static_cast<size_t>(NodeColumn::Count);

/// The sizes of the tensors.
struct GraphShape {
  size_t Nodes;   ///< the most live ranges
  size_t Edges;   ///< the most edges, each direction counted
  size_t Columns; ///< the answers of the point
  unsigned Hops;  ///< how far the graph reaches
};

/// The tensors, in the order of the set.
enum class GraphTensor : size_t { Nodes, Edges, Counts, LeftOut, Columns };

/// The features of a point whose questions are LiveRangeQuestions.
std::unique_ptr<FeatureSet> graphFeatures(const GraphShape &Shape);

} // namespace passpilot
