# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Ensemble`: reads and checks the trees in a node's attributes, and lays them out as a `Forest`.

A forest is tables for a branch-free descent: eight trees at a time, every lane a chain of loads.

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

from passpilot.plugin.errors import ModelError
from passpilot.runners.aot.emitter import Node, refused

Integers: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float32] | NDArray[np.float64]

LANES: Final = 8
"""The number of trees that descend at once; of 4, 8, 12 and 16 the fastest for small and large ensembles."""

LEQ, LT, GTE, GT, EQ, NEQ, LEAF = range(7)
"""The modes of nodes."""

MODES: Final = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "LEAF")


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


class Ensemble:
    """The trees of a node, and the weights that `<prefix>_weights` and its like add to `count` scores."""

    def __init__(self, node: Node, prefix: str, count: int, real: np.dtype[np.floating]) -> None:
        self.node, self.count, self.real = node, count, real
        self._keys = _Keys(node)
        self.trees = self._trees()
        self.weights = self._weights(prefix)
        self.single = len(np.unique(self.weights.targets)) == 1
        """Whether all weights belong to one score."""
        self.positive = bool((self.weights.values >= 0).all())
        """Whether no weight is negative."""
        if count == 1:  # a leaf without a weight has the weight zero
            leaves = np.flatnonzero(self.trees.modes == LEAF)
            self.weights = self.weights.plus(leaves, np.zeros_like(leaves), np.zeros(len(leaves), real))

    def lay_out(self, features: int, nothing: float) -> Forest:
        """The tables for a descent; `nothing` is the weight of a leaf without one."""
        try:
            return lay_out(self.trees, self.weights, (self.count, nothing), features)
        except ValueError as error:
            raise ModelError(f"{self.node}: expected {error}") from error

    def flag_scored(self) -> list[int | bool]:
        """Tell scores of zero from scores without a weight.

        The result has an element for every score: True or False if it always or never gets a weight, else the
        index of a new score, which becomes positive when this score gets a weight.
        """
        keys, count = self._keys, self.count
        places = len(keys.roots)
        leaves = np.bincount(keys.tree[self.trees.modes == LEAF], minlength=places)
        met = np.unique(np.stack([self.weights.leaves, self.weights.targets]), axis=1)
        weighed = np.bincount(met[1] * places + keys.tree[met[0]], minlength=count * places).reshape(
            count, places
        )
        always, never = (weighed == leaves).any(axis=1), ~weighed.any(axis=1)
        unsure = np.flatnonzero(~always & ~never)
        marked = np.isin(met[1], unsure)
        marks = count + np.searchsorted(unsure, met[1][marked])
        self.weights = self.weights.plus(met[0][marked], marks, np.ones(len(marks), self.real))
        self.count += len(unsure)
        place = {int(score): count + index for index, score in enumerate(unsure)}
        return [place.get(score, bool(always[score])) for score in range(count)]

    def _trees(self) -> Trees:
        node, keys = self.node, self._keys
        names = [str(mode) for mode in node.attributes.get("nodes_modes", ())]
        if unknown := [name for name in names if name not in MODES]:
            raise refused(node, f"nodes_modes among {', '.join(MODES)}", unknown[0])
        modes = np.array([MODES.index(name) for name in names], np.uint8)
        missing = keys.integers("nodes_missing_value_tracks_true")
        missing = missing if missing.size else np.zeros(len(keys.tree), np.int64)
        features, thresholds = keys.integers("nodes_featureids"), numbers(node, "nodes_values", self.real)
        parts: dict[str, NDArray[np.generic]] = {
            "modes": modes,
            "featureids": features,
            "values": thresholds,
            "missing_value_tracks_true": missing,
        }
        for name, part in parts.items():
            if len(part) != len(keys.tree):
                raise refused(
                    node, f"one element of nodes_{name} per node", f"{len(part)} of {len(keys.tree)}"
                )
        inner = modes != LEAF
        true, false = (keys.children(f"nodes_{way}nodeids", inner) for way in ("true", "false"))
        return Trees(modes, features, thresholds, missing == 1, true, false, keys.roots)

    def _weights(self, prefix: str) -> Weights:
        node, keys = self.node, self._keys
        targets, values = keys.integers(f"{prefix}_ids"), numbers(node, f"{prefix}_weights", self.real)
        trees, nodes = keys.integers(f"{prefix}_treeids"), keys.integers(f"{prefix}_nodeids")
        if not len(targets) == len(values) == len(trees) == len(nodes):
            sizes = f"{len(targets)}, {len(values)}, {len(trees)} and {len(nodes)}"
            raise refused(node, f"{prefix}_ids, weights, treeids and nodeids of one length", sizes)
        if ((targets < 0) | (targets >= self.count)).any():
            found = f"{targets.min()} to {targets.max()}"
            raise refused(node, f"{prefix}_ids of 0 to {self.count - 1}", found)
        leaves = keys.find(trees, nodes)
        on_leaf = self.trees.modes[leaves] == LEAF
        return Weights(leaves[on_leaf], targets[on_leaf], values[on_leaf])


def numbers(node: Node, name: str, real: np.dtype[np.floating]) -> Floats:
    """A list of numbers: an attribute of floats or, as `<name>_as_tensor`, of doubles."""
    value = node.attributes.get(f"{name}_as_tensor", node.attributes.get(name, ()))
    return np.asarray(value, real).ravel()


class _Keys:
    """Finds nodes by the numbers of tree and node; a tree's first node is its root."""

    def __init__(self, node: Node) -> None:
        self._node = node
        trees, nodes = self.integers("nodes_treeids"), self.integers("nodes_nodeids")
        if not 0 < len(trees) == len(nodes):
            raise refused(
                node, "nodes_treeids and nodes_nodeids of one length", f"{len(trees)} and {len(nodes)}"
            )
        if nodes.min() < 0 or nodes.max() >= 1 << 31:
            raise refused(node, "nodes numbered from 0 to 2147483647", f"{nodes.min()} to {nodes.max()}")
        self._rows = {key: row for row, key in enumerate(zip(trees.tolist(), nodes.tolist(), strict=True))}
        if len(self._rows) != len(nodes):
            raise refused(node, "nodes that differ in nodes_treeids or nodes_nodeids", "two of the same")
        _, first, self.tree = np.unique(trees, return_index=True, return_inverse=True)
        self.roots: Integers = np.sort(first)
        self._trees = trees

    def integers(self, name: str) -> Integers:
        """A list of integers; empty if there is none."""
        return np.asarray(self._node.integers(name) or (), np.int64)

    def find(self, trees: Integers, nodes: Integers) -> Integers:
        keys = zip(trees.tolist(), nodes.tolist(), strict=True)
        try:
            return np.array([self._rows[key] for key in keys], np.int64)
        except KeyError as error:
            tree, number = error.args[0]
            raise refused(self._node, "nodes that there are", f"node {number} of tree {tree}") from None

    def children(self, name: str, inner: NDArray[np.bool_]) -> Integers:
        """The rows of the branches' children; zero for leaves."""
        nodes = self.integers(name)
        if len(nodes) != len(inner):
            raise refused(self._node, f"one element of {name} per node", f"{len(nodes)} of {len(inner)}")
        places = np.zeros(len(inner), np.int64)
        places[inner] = self.find(self._trees[inner], nodes[inner])
        return places
