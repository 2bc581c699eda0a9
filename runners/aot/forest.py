# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decision trees as tables for a branch-free descent: eight trees at a time, every lane a chain of loads.

Every comparison becomes ``x <= threshold``, which is false for NaN and leads to one of two neighbours:

    place = record.next + not (x[record.feature] <= record.threshold)

A leaf leads to itself (its threshold is NaN), so that lanes of different depth need no test. Other
comparisons become ``<=`` by the next smaller threshold and by swapping the children; ``==`` and ``!=`` take
two records. If NaN must count as ``<=``, the record reads a second copy of the features, which has -inf for
NaN.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

Integers: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float32] | NDArray[np.float64]

LANES: Final = 8
"""The number of trees that descend at once; of 4, 8, 12 and 16 the fastest for small and large ensembles."""

LEQ, LT, GTE, GT, EQ, NEQ, MEMBER, LEAF = range(8)
"""The modes of nodes, with the numbers of ONNX's TreeEnsemble, which has no number for leaves."""


@dataclass(frozen=True, slots=True)
class Trees:
    """The model's trees: one row per node; `true`, `false` (children) and `roots` are row numbers."""

    modes: NDArray[np.uint8]
    features: Integers
    thresholds: Floats
    missing: NDArray[np.bool_]
    """Whether NaN counts as true in any comparison."""
    true: Integers
    false: Integers
    roots: Integers


@dataclass(frozen=True, slots=True)
class Weights:
    """The weights that leaves add to scores: node `leaves[i]` adds `values[i]` to the score `targets[i]`."""

    leaves: Integers
    targets: Integers
    values: Floats

    def plus(self, leaves: Integers, targets: Integers, values: Floats) -> Weights:
        """These weights and more."""
        return Weights(
            np.concatenate([self.leaves, leaves]),
            np.concatenate([self.targets, targets]),
            np.concatenate([self.values, values]),
        )


@dataclass(frozen=True, slots=True)
class Forest:
    """The tables. `records` begins with the roots, padded to whole groups of `LANES`."""

    records: NDArray[np.void]
    """threshold, value, feature, next; a leaf's value is its weight, or its row in `rows`."""
    depths: NDArray[np.int32]
    """The steps of every group, at least one."""
    rows: Floats | None
    """The leaves' weights, ``[leaves, scores]``, if the ensemble has several scores."""
    copied: bool
    """Whether records read the features' second copy."""


def lay_out(trees: Trees, weights: Weights, rows: tuple[int, float], features: int) -> Forest:
    """Make the tables of trees over `features` features; `rows` is (number of scores, weight without one).

    Raises:
        ValueError: the trees are ill-formed; the text says what was expected.
    """
    branches = _Branches(trees, features)
    order, heights = branches.ordered(trees.roots)
    groups = -(-len(trees.roots) // LANES)
    empty = len(branches.is_branch) - 1
    roots = np.full(groups * LANES, empty)
    roots[: len(trees.roots)] = trees.roots
    pairs = np.stack([branches.low[order], branches.high[order]], axis=1).ravel()
    nodes = np.concatenate([roots, pairs])
    after = np.zeros(empty + 1, np.int64)
    after[order] = len(roots) + 2 * np.arange(len(order))
    inner = branches.is_branch[nodes]
    real = trees.thresholds.dtype
    values, table = _leaf_values(weights, nodes, inner, rows, real)
    records = np.zeros(
        len(nodes), [("threshold", real), ("value", values.dtype), ("feature", "i4"), ("next", "i4")]
    )
    records["threshold"] = np.where(inner, branches.thresholds[nodes], np.nan)
    records["value"] = values
    records["feature"] = np.where(inner, branches.features[nodes], 0)
    records["next"] = np.where(inner, after[nodes], np.arange(len(nodes)) - 1)
    depths = np.maximum(heights[roots].reshape(groups, LANES).max(axis=1), 1).astype(np.int32)
    copied = bool((records["feature"] >= features).any())
    return Forest(records, depths, table, copied)


def _leaf_values(
    weights: Weights,
    nodes: Integers,
    inner: NDArray[np.bool_],
    rows: tuple[int, float],
    real: np.dtype[np.floating],
) -> tuple[NDArray[np.generic], Floats | None]:
    scores, nothing = rows
    leaves, row = np.unique(np.where(inner, -1, nodes), return_inverse=True)
    table = np.full((len(leaves), scores), nothing, real)
    known = np.isin(weights.leaves, leaves)
    place = np.searchsorted(leaves, weights.leaves[known])
    first = np.zeros((len(leaves), scores), np.bool_)
    first[place, weights.targets[known]] = True
    table[first] = 0
    np.add.at(table, (place, weights.targets[known]), weights.values[known].astype(real))
    if scores == 1:
        return table[row, 0], None
    return row.astype(f"i{real.itemsize}"), table


class _Branches:
    """The nodes with ``x <= threshold`` as the only comparison, including nodes added for ``==`` and ``!=``.

    `low` and `high` are the children where it is true and false.
    """

    def __init__(self, trees: Trees, features: int) -> None:
        mode, way, other = trees.modes, trees.true, trees.false
        with np.errstate(all="ignore"):
            below = np.nextafter(trees.thresholds, trees.thresholds.dtype.type(-np.inf))
        equal = np.flatnonzero((mode == EQ) | (mode == NEQ))
        strict = (mode == LT) | (mode == GTE)
        swapped = (mode == GTE) | (mode == GT) | (mode == NEQ)
        added = len(mode) + np.arange(len(equal))
        low, high = np.where(swapped, other, way), np.where(swapped, way, other)
        low[equal] = added
        unequal = mode[equal] == NEQ
        as_low = np.where(swapped, ~trees.missing & (mode != NEQ), trees.missing)
        nothing = np.zeros(1, np.int64)
        self.is_branch = np.concatenate([mode != LEAF, np.ones(len(equal), np.bool_), [False]])
        self.low = np.concatenate([low, np.where(unequal, way[equal], other[equal]), nothing])
        self.high = np.concatenate([high, np.where(unequal, other[equal], way[equal]), nothing])
        thresholds = np.where(strict, below, trees.thresholds)
        self.thresholds = np.concatenate([thresholds, below[equal], nothing.astype(below.dtype)])
        which = trees.features + np.where(as_low, features, 0)
        self.features = np.concatenate([which, trees.features[equal], nothing])
        self._check(trees, features)

    def _check(self, trees: Trees, features: int) -> None:
        branch = trees.modes != LEAF
        outside = (trees.features[branch] < 0) | (trees.features[branch] >= features)
        if outside.any():
            raise ValueError(f"features of 0 to {features - 1}, got {trees.features[branch][outside][0]}")
        if np.isnan(self.thresholds[self.is_branch]).any():
            raise ValueError("thresholds that are numbers, of < and >= above -inf, got another")

    def ordered(self, roots: Integers) -> tuple[Integers, Integers]:
        """The branches that the roots reach, tree by tree from the top, and every node's height."""
        count = len(self.is_branch)
        level, tree = np.full(count, -1), np.zeros(count, np.int64)
        tree[roots] = np.arange(len(roots))
        found, steps = np.unique(roots), 0
        while found.size:
            if steps > count:
                raise ValueError("trees, got a node that is below itself")
            level[found] = steps
            inner = found[self.is_branch[found]]
            tree[self.low[inner]] = tree[self.high[inner]] = tree[inner]
            found = np.unique(np.concatenate([self.low[inner], self.high[inner]]))
            steps += 1
        reached = np.flatnonzero(self.is_branch & (level >= 0))
        return reached[np.lexsort((level[reached], tree[reached]))], self._heights(reached, level)

    def _heights(self, reached: Integers, level: Integers) -> Integers:
        heights = np.zeros(len(level), np.int64)
        upwards = reached[np.argsort(-level[reached], kind="stable")]
        for nodes in np.split(upwards, np.flatnonzero(np.diff(level[upwards])) + 1):
            heights[nodes] = 1 + np.maximum(heights[self.low[nodes]], heights[self.high[nodes]])
        return heights
