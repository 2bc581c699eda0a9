# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Ensemble`: reads and checks the trees and the leaves' weights in a node's attributes."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from passpilot.plugin.errors import ModelError
from passpilot.runners.aot.emitter import Node, refused
from passpilot.runners.aot.forest import (
    EQ,
    GT,
    GTE,
    LEAF,
    LEQ,
    LT,
    NEQ,
    Floats,
    Forest,
    Integers,
    Trees,
    Weights,
    lay_out,
)

MODES: Final = {
    "BRANCH_LEQ": LEQ,
    "BRANCH_LT": LT,
    "BRANCH_GTE": GTE,
    "BRANCH_GT": GT,
    "BRANCH_EQ": EQ,
    "BRANCH_NEQ": NEQ,
    "LEAF": LEAF,
}


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
        modes = np.array([MODES.get(name, 255) for name in names], np.uint8)
        if (modes == 255).any():
            unknown = names[int(np.argmax(modes == 255))]
            raise refused(node, f"nodes_modes among {', '.join(MODES)}", unknown)
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
        """The rows of nodes."""
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
