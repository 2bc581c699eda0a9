# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every aggregate, transform and form of base values of tree ensembles, side by side in one model.

`test_trees.py` draws ensembles at random, and leaves some of the combinations out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx
import pytest
from onnx import helper

from passpilot.plugin.errors import ModelError
from tests.runners.aot.library import library
from tests.runners.onnx.reference import assert_close, reference
from tests.runners.onnx.trees import AGGREGATES, MODES, TRANSFORMS, grown, model, observations, weights

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.runners.onnx.trees import Attributes, Trees

ROWS = 2


def joined(models: Sequence[onnx.ModelProto]) -> onnx.ModelProto:
    """The models of one node each as one, of the same input."""
    nodes: list[onnx.NodeProto] = []
    outputs: list[onnx.ValueInfoProto] = []
    for at, each in enumerate(models):
        (node,) = each.graph.node
        for place, output in enumerate(each.graph.output):
            output.name = node.output[place] = f"{output.name}{at}"
        nodes.append(node)
        outputs += each.graph.output
    graph = helper.make_graph(nodes, "trees", [models[0].graph.input[0]], outputs)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def compare(models: Sequence[onnx.ModelProto], trees: Trees, folder: Path) -> None:
    proto = joined(models)
    run, compiled = reference(proto), library(proto, folder)
    (x,) = compiled.inputs
    for _ in range(8):
        fed = {"x": observations(trees.rng, x.dtype, x.shape)}
        wanted, made = run(fed), compiled.run(fed)
        for name, value in wanted.items():
            assert_close(made[name], value, f"{name} for {fed}")
    compiled.close()


def regressor(trees: Trees, targets: int, aggregate: str, transform: str, *, based: bool) -> onnx.ModelProto:
    attributes: Attributes = weights(trees, "target", targets, "some", positive=False)
    attributes |= {"n_targets": targets, "aggregate_function": aggregate, "post_transform": transform}
    if based:
        attributes["base_values"] = [0.5, -0.25, 1.5][:targets]
    return model("TreeEnsembleRegressor", "float32", attributes, trees, targets, ROWS)


def test_regressors(tmp_path: Path) -> None:
    """The transform of a single target is none."""
    trees, one = (grown(1, count, 2, MODES, missing=True) for count in (3, 1))
    models = [regressor(trees, 3, each, "NONE", based=at % 2 > 0) for at, each in enumerate(AGGREGATES)]
    models += [regressor(one, 3, "SUM", each, based=at % 2 > 0) for at, each in enumerate(TRANSFORMS[1:])]
    models += [regressor(trees, 1, each, "LOGISTIC", based=at % 2 > 0) for at, each in enumerate(AGGREGATES)]
    compare(models, trees, tmp_path)


def classifier(
    trees: Trees, classes: int, each: str, transform: str, base: int, *, positive: bool
) -> onnx.ModelProto:
    attributes: Attributes = weights(trees, "class", classes, each, positive)
    attributes |= {"classlabels_int64s": [40, 7, 9][:classes], "post_transform": transform}
    if base:
        attributes["base_values"] = [0.125, -0.5, 0.25][:base]
    return model("TreeEnsembleClassifier", "float32", attributes, trees, classes, ROWS)


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize(
    ("each", "bases"),
    [("all", (0, 2, 1, 2)), ("last", (0, 0, 1, 2)), ("first", (1, 2, 0, 0)), ("some", (2, 0, 2, 0))],
)
def test_classifiers_of_two(each: str, bases: Sequence[int], positive: bool, tmp_path: Path) -> None:
    trees = grown(2, 1 if each == "some" else 3, 2, MODES, missing=True)  # some leaves lack a class
    pairs = zip(TRANSFORMS, bases[::-1] if positive else bases, strict=True)
    models = [classifier(trees, 2, each, name, base, positive=positive) for name, base in pairs]
    compare(models, trees, tmp_path)


def test_classifiers_of_three(tmp_path: Path) -> None:
    trees, one = (grown(3, count, 2, MODES, missing=True) for count in (3, 1))
    rows = [("some", 0), ("last", 3), ("one", 0), ("some", 3)]
    models = [
        classifier(one if each == "some" else trees, 3, each, name, base, positive=False)
        for (each, base), name in zip(rows, TRANSFORMS, strict=True)
    ]
    compare(models, trees, tmp_path)


def test_modes(tmp_path: Path) -> None:
    """With NaN on either way, at thresholds and next to them."""
    trees = [grown(4, 4, 2, (mode,), missing=True) for mode in MODES]
    models = [classifier(each, 2, "all", "NONE", 0, positive=False) for each in trees]
    compare(models, trees[0], tmp_path)


def test_a_classifier_of_one_class(tmp_path: Path) -> None:
    trees = grown(5, 1, 1, MODES, missing=False)
    with pytest.raises(
        ModelError, match=r"node .* \(TreeEnsembleClassifier\): expected two classes or more, got 1"
    ):
        library(classifier(trees, 1, "all", "NONE", 0, positive=True), tmp_path)
