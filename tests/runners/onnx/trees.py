# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random ensembles of trees as ONNX models."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import onnx
from onnx import TensorProto, helper

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Attributes = dict[str, object]

MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")
AGGREGATES = ("SUM", "AVERAGE", "MIN", "MAX")
TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO")
THRESHOLDS = np.array([-1e30, -2.5, -1.0, -0.0, 0.0, 1e-40, 0.5, 1.0, 3.0, 3e38], np.float32)
"""Few values, so that comparisons for equality succeed."""

COLUMNS = (
    "treeids",
    "nodeids",
    "modes",
    "values",
    "featureids",
    "missing_value_tracks_true",
    "truenodeids",
    "falsenodeids",
)


@dataclass
class Trees:
    """The attributes of random trees."""

    rng: np.random.Generator
    features: int
    modes: Sequence[str]
    missing: bool
    nodes: dict[str, list[object]] = field(default_factory=lambda: {name: [] for name in COLUMNS})
    leaves: list[tuple[int, int]] = field(default_factory=list)

    def grow(self, tree: int, depth: int) -> None:
        """Add a tree of limited depth, with its nodes in random order."""
        rows: list[dict[str, object]] = []
        self._node(tree, depth, rows)
        head, *rest = rows
        for place in [-1, *self.rng.permutation(len(rest))]:
            for name, value in (head if place < 0 else rest[place]).items():
                self.nodes[name].append(value)

    def _node(self, tree: int, depth: int, rows: list[dict[str, object]]) -> int:
        number = len(rows)
        row: dict[str, object] = dict.fromkeys(COLUMNS, 0)
        row |= {"treeids": tree, "nodeids": number, "modes": "LEAF", "values": 0.0}
        rows.append(row)
        if depth == 0 or self.rng.random() < 0.15:
            self.leaves.append((tree, number))
            return number
        row["modes"] = str(self.rng.choice(self.modes))
        row["values"] = float(self.rng.choice(THRESHOLDS))
        row["featureids"] = int(self.rng.integers(self.features))
        row["missing_value_tracks_true"] = int(self.missing and self.rng.integers(2))
        row["truenodeids"] = self._node(tree, depth - 1, rows)
        row["falsenodeids"] = self._node(tree, depth - 1, rows)
        return number

    def attributes(self) -> dict[str, list[object]]:
        """The attributes of the nodes."""
        return {f"nodes_{name}": column for name, column in self.nodes.items()}


def grown(seed: int, count: int, depth: int, modes: Sequence[str], missing: bool, features: int = 5) -> Trees:
    """An ensemble."""
    trees = Trees(np.random.default_rng(seed), features, modes, missing)
    numbers = trees.rng.permutation(count * 2)[:count]
    for tree in numbers:
        trees.grow(int(tree), depth)
    return trees


def weights(trees: Trees, prefix: str, scores: int, each: str, positive: bool) -> Attributes:
    """Leaf weights: for `all` scores, `one` per tree, `some` per leaf, the `first` or the `last`."""
    rng = trees.rng
    found: list[tuple[int, int, int, float]] = []
    for tree, node in trees.leaves:
        some = rng.permutation(scores)[: rng.integers(1, scores + 1)].tolist()
        chosen = {
            "all": range(scores),
            "one": [tree % scores],
            "some": some,
            "first": [0],
            "last": [scores - 1],
        }
        for score in chosen[each]:
            value = rng.uniform(0, 0.3) if positive else rng.normal()
            found.append((tree, node, int(score), float(np.float32(value))))
    names = (f"{prefix}_{name}" for name in ("treeids", "nodeids", "ids", "weights"))
    return dict(zip(names, map(list, zip(*found, strict=True)), strict=True))


def model(
    op_type: str, dtype: str, attributes: Attributes, trees: Trees, outputs: int, rows: int
) -> onnx.ModelProto:
    """A model of a single node."""
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    made = [helper.make_tensor_value_info("scores", TensorProto.FLOAT, [rows, outputs])]
    if op_type.endswith("Classifier"):
        made.insert(0, helper.make_tensor_value_info("label", TensorProto.INT64, [rows]))
    node = helper.make_node(
        op_type,
        ["x"],
        [each.name for each in made],
        domain="ai.onnx.ml",
        **trees.attributes(),  # type: ignore[arg-type]
        **attributes,  # type: ignore[arg-type]
    )
    x = helper.make_tensor_value_info("x", kind, [rows, trees.features])
    graph = helper.make_graph([node], "trees", [x], made)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def observations(
    rng: np.random.Generator, dtype: np.dtype[np.generic], shape: tuple[int, ...]
) -> NDArray[np.generic]:
    """Inputs equal or close to thresholds, NaN, and infinities."""
    if dtype.kind == "i":
        return rng.choice(np.array([-3, -1, 0, 1, 2, 1 << 30, -(1 << 31)]), shape).astype(dtype)
    odd = np.array([np.nan, np.inf, -np.inf, -0.0, 1e-45], np.float32)
    beside = np.nextafter(THRESHOLDS, np.float32(np.inf))
    return rng.choice(np.concatenate([THRESHOLDS, beside, odd]), shape).astype(dtype)
