# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled tree ensembles equal onnxruntime's bit by bit before the transform."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from passpilot.plugin.errors import ModelError
from passpilot.runners.aot.emitter import Node
from passpilot.runners.aot.ensemble import Ensemble
from tests.runners.aot.library import examples, library
from tests.runners.onnx.reference import assert_close, reference
from tests.runners.onnx.trees import AGGREGATES, MODES, TRANSFORMS, Trees, grown, model, observations, weights

if TYPE_CHECKING:
    from pathlib import Path

    from tests.runners.onnx.trees import Attributes

EACH = ("all", "one", "some", "first", "last")
few, many = map(examples, (8, 200))
ensembles = st.builds(
    grown,
    seed=st.integers(0, 1 << 30),
    count=st.sampled_from((1, 2, 8, 9, 20)),
    depth=st.sampled_from((0, 1, 3, 6)),
    modes=st.one_of(st.sampled_from([(mode,) for mode in MODES]), st.just(MODES)),
    missing=st.booleans(),
)


def check(proto: onnx.ModelProto, trees: Trees, folder: Path, *, exact: bool) -> None:
    """Thirty random inputs."""
    run, compiled = reference(proto), library(proto, folder)
    (x,) = compiled.inputs
    for _ in range(30):
        fed = {"x": observations(trees.rng, x.dtype, x.shape)}
        wanted, made = run(fed), compiled.run(fed)
        for name, value in wanted.items():
            if exact:
                assert np.array_equal(made[name], value, equal_nan=True), (name, fed, wanted, made)
            else:
                assert_close(made[name], value, f"{name} for {fed}")
    compiled.close()


regressors = given(
    trees=ensembles,
    targets=st.sampled_from((1, 2, 5)),
    each=st.sampled_from(EACH),
    aggregate=st.sampled_from(AGGREGATES),
    transform=st.sampled_from(TRANSFORMS),
    based=st.booleans(),
    dtype=st.sampled_from(("float32", "float64")),
    rows=st.sampled_from((1, 3)),
)


def check_regressor(
    tmp_path: Path,
    trees: Trees,
    targets: int,
    each: str,
    aggregate: str,
    transform: str,
    based: bool,
    dtype: str,
    rows: int,
) -> None:
    attributes: Attributes = weights(trees, "target", targets, each, positive=False)
    attributes |= {"n_targets": targets, "aggregate_function": aggregate, "post_transform": transform}
    if based:
        attributes["base_values"] = np.float32(trees.rng.normal(size=targets)).tolist()
    proto = model("TreeEnsembleRegressor", dtype, attributes, trees, targets, rows)
    check(proto, trees, tmp_path, exact=transform == "NONE")


test_regressors = few(regressors(check_regressor))
test_many_regressors = pytest.mark.soak(many(regressors(check_regressor)))


classifiers = given(
    trees=ensembles,
    classes=st.sampled_from((2, 2, 3, 5)),
    each=st.sampled_from(EACH),
    positive=st.booleans(),
    transform=st.sampled_from(TRANSFORMS),
    base=st.sampled_from((0, 1, 2)),
    dtype=st.sampled_from(("float32", "float64", "int64", "int32")),
    rows=st.sampled_from((1, 3)),
)


def check_classifier(
    tmp_path: Path,
    trees: Trees,
    classes: int,
    each: str,
    positive: bool,
    transform: str,
    base: int,
    dtype: str,
    rows: int,
) -> None:
    """With one base and leaves that lack one of two classes, onnxruntime writes only one of two scores."""
    base = 0 if base == 1 and (classes > 2 or each == "some") else base
    attributes: Attributes = weights(trees, "class", classes, each, positive)
    attributes |= {
        "classlabels_int64s": trees.rng.permutation(100)[:classes].tolist(),
        "post_transform": transform,
    }
    if base:
        count = classes if base == 2 else 1
        attributes["base_values"] = np.float32(trees.rng.normal(size=count)).tolist()
    proto = model("TreeEnsembleClassifier", dtype, attributes, trees, classes, rows)
    check(proto, trees, tmp_path, exact=transform == "NONE")


test_classifiers = few(classifiers(check_classifier))
test_many_classifiers = pytest.mark.soak(many(classifiers(check_classifier)))


def test_shared_nodes_and_long_chains(tmp_path: Path) -> None:
    """Exporters write set membership as a chain of equalities with a common child for true."""
    count = 300
    trees = grown(0, 1, 0, MODES, missing=False)
    columns = trees.nodes
    for name in columns:
        columns[name] = []
    for node in range(count):
        row = (
            0,
            node,
            "BRANCH_EQ",
            float(2 * node),
            0,
            0,
            count,
            node + 1 if node + 1 < count else count + 1,
        )
        for name, value in zip(columns, row, strict=True):
            columns[name].append(value)
    for node in (count, count + 1):
        for name, value in zip(columns, (0, node, "LEAF", 0.0, 0, 0, 0, 0), strict=True):
            columns[name].append(value)
    attributes: Attributes = {
        "target_treeids": [0, 0],
        "target_nodeids": [count, count + 1],
        "target_ids": [0, 0],
        "target_weights": [1.0, -1.0],
        "n_targets": 1,
    }
    compiled = library(model("TreeEnsembleRegressor", "float32", attributes, trees, 1, 1), tmp_path)
    for number in (0, 1, 2, 299, 300, 598, 600, np.nan):
        x = np.full((1, trees.features), number, np.float32)
        member = number in range(0, 2 * count, 2)
        assert compiled.run({"x": x})["scores"].item() == (1 if member else -1)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"class_ids": [0, 2]}, "expected class_ids of 0 to 1, got 0 to 2"),
        ({"class_nodeids": [1, 9]}, "expected nodes that there are, got node 9 of tree 4"),
        ({"class_treeids": [4, 5]}, "expected nodes that there are, got node 2 of tree 5"),
        ({"class_weights": [1.0]}, "expected class_ids, weights, treeids and nodeids of one length"),
        ({"nodes_nodeids": [0, 1, 1]}, "expected nodes that differ in nodes_treeids or nodes_nodeids"),
        ({"nodes_nodeids": [0, 1, -1]}, "expected nodes numbered from 0 to 2147483647, got -1 to 1"),
        ({"nodes_treeids": [4, 4]}, "expected nodes_treeids and nodes_nodeids of one length, got 2 and 3"),
        ({"nodes_modes": ["BRANCH_LIKE", "LEAF", "LEAF"]}, "expected nodes_modes among .*, got BRANCH_LIKE"),
        ({"nodes_values": [0.5]}, "expected one element of nodes_values per node, got 1 of 3"),
        ({"nodes_values": [np.nan, 0.0, 0.0]}, "expected thresholds that are numbers"),
        ({"nodes_featureids": [7, 0, 0]}, "expected features of 0 to 4, got 7"),
        ({"nodes_truenodeids": [0, 0, 0]}, "expected trees, got a node that is below itself"),
        ({"nodes_falsenodeids": [3, 0, 0]}, "expected nodes that there are, got node 3 of tree 4"),
    ],
)
def test_ill_formed_trees(change: Attributes, expected: str) -> None:
    attributes: Attributes = {
        "nodes_treeids": [4, 4, 4],
        "nodes_nodeids": [0, 1, 2],
        "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"],
        "nodes_values": [0.5, 0.0, 0.0],
        "nodes_featureids": [0, 0, 0],
        "nodes_truenodeids": [1, 0, 0],
        "nodes_falsenodeids": [2, 0, 0],
        "class_treeids": [4, 4],
        "class_nodeids": [1, 2],
        "class_ids": [0, 1],
        "class_weights": [1.0, 2.0],
    }
    node = Node("TreeEnsembleClassifier", "trees", ("x",), ("label", "scores"), attributes | change, 3)
    with pytest.raises(ModelError, match=f"node 'trees' .TreeEnsembleClassifier.: {expected}"):
        Ensemble(node, "class", 2, np.dtype(np.float32)).lay_out(5, 0.0)


def test_transform_that_is_refused(tmp_path: Path) -> None:
    trees = grown(3, 1, 0, MODES, missing=False)
    attributes = weights(trees, "target", 1, "all", positive=True) | {
        "n_targets": 1,
        "post_transform": "PROBIT",
    }
    with pytest.raises(ModelError, match="expected post_transform among NONE, SOFTMAX, LOGISTIC"):
        library(model("TreeEnsembleRegressor", "float32", attributes, trees, 1, 1), tmp_path)


def test_labels_that_are_strings(tmp_path: Path) -> None:
    """Only the scores can be compiled."""
    trees = grown(3, 1, 2, MODES, missing=False)
    attributes: Attributes = weights(trees, "class", 2, "all", positive=True)
    attributes |= {"classlabels_strings": ["no", "yes"]}
    proto = model("TreeEnsembleClassifier", "float32", attributes, trees, 2, 1)
    proto.graph.output[0].type.tensor_type.elem_type = onnx.TensorProto.STRING
    with pytest.raises(ModelError, match="label"):
        library(proto, tmp_path)
    compiled, run = library(proto, tmp_path, outputs=["scores"]), reference(proto)
    fed = {"x": observations(trees.rng, np.dtype(np.float32), (1, trees.features))}
    assert np.array_equal(compiled.run(fed)["scores"], run(fed)["scores"])
