# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares whole compiled policies of scikit-learn, PyTorch and MLGO with onnxruntime."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import onnx
import pytest
from skl2onnx import to_onnx
from sklearn.ensemble import (
    GradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, Normalizer, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from passpilot.features.point import find_point
from tests.runners.aot.library import library
from tests.runners.foreign.mlgo_models import eviction_model, inliner_model
from tests.runners.onnx.reference import assert_close, reference

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

MODELS = sorted(Path(__file__).parents[1].joinpath("models").glob("*.onnx"))
FEATURES = 12


def check(proto: onnx.ModelProto, folder: Path, feeds: Callable[[], dict[str, NDArray[np.generic]]]) -> None:
    """For forty inputs, floats are close, and decisions, which are integers, are equal."""
    run, compiled = reference(proto), library(proto, folder)
    for _ in range(40):
        fed = feeds()
        wanted, made = run(fed), compiled.run(fed)
        for name in made:
            assert_close(made[name], wanted[name], f"{name} for {fed}")
    compiled.close()


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_pytorch(path: Path, tmp_path: Path) -> None:
    proto, rng = onnx.load(path), np.random.default_rng(5)

    def feeds() -> dict[str, NDArray[np.generic]]:
        made: dict[str, NDArray[np.generic]] = {}
        for each in proto.graph.input:
            shape = [dim.dim_value for dim in each.type.tensor_type.shape.dim]
            if each.type.tensor_type.elem_type == onnx.TensorProto.INT64:
                made[each.name] = rng.integers(-1 if each.name == "kind" else 0, 2, shape)
            else:
                made[each.name] = rng.normal(0, rng.choice([0.1, 1, 10]), shape).astype(np.float32)
        return made

    check(proto, tmp_path, feeds)


LEARNERS = {
    "boosting": GradientBoostingClassifier(n_estimators=30, max_depth=3, random_state=0),
    "decision-tree": DecisionTreeClassifier(max_depth=6, random_state=0),
    "forest": RandomForestClassifier(n_estimators=20, max_depth=8, random_state=0),
    "forest-regressor": RandomForestRegressor(n_estimators=20, max_depth=8, random_state=0),
    "linear-regressor": make_pipeline(MinMaxScaler(), LinearRegression()),
    "logistic": make_pipeline(StandardScaler(), LogisticRegression()),
    "perceptron": make_pipeline(StandardScaler(), MLPClassifier((16, 16), max_iter=30, random_state=0)),
    "perceptron-regressor": make_pipeline(
        Normalizer(), MLPRegressor(hidden_layer_sizes=(16,), activation="tanh", max_iter=30, random_state=0)
    ),
}


@pytest.mark.parametrize(
    ("name", "classes"),
    [(name, classes) for name in LEARNERS for classes in ((4,) if "regress" in name else (2, 4))],
)
def test_scikit_learn(name: str, classes: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(400, FEATURES)).astype(np.float32)
    y = np.digitize(x[:, 0] * x[:, 1] + x[:, 2], np.linspace(-1, 1, classes + 1)[1:-1])
    learner = LEARNERS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few iterations are enough here
        learner.fit(x, y)
        final = learner[-1] if hasattr(learner, "steps") else learner
        options = {id(final): {"zipmap": False}} if hasattr(final, "predict_proba") else None
        proto = to_onnx(learner, x[:1], options=options, target_opset={"": 17, "ai.onnx.ml": 3})

    def feeds() -> dict[str, NDArray[np.generic]]:
        return {"X": rng.normal(0, 1.5, (1, FEATURES)).astype(np.float32)}

    check(proto, tmp_path, feeds)


@pytest.mark.parametrize("count", [10, pytest.param(38, marks=pytest.mark.soak)])
def test_inliner_of_mlgo(tmp_path: Path, count: int) -> None:
    """`count` integers bucketised by quantiles; includes values at the quantiles and the largest integers."""
    rng = np.random.default_rng(3)
    names = [spec.name for spec in find_point("inline").features][:count]

    def feeds() -> dict[str, NDArray[np.generic]]:
        scale = rng.choice([4, 1000, 1 << 40, (1 << 63) - 1])
        return {name: rng.integers(0, scale, 1) for name in names}

    check(inliner_model(names), tmp_path, feeds)


def test_eviction_of_mlgo(tmp_path: Path) -> None:
    """The 21 tensors of an eviction: masked columns never win."""
    rng = np.random.default_rng(4)
    specs = find_point("evict").features[:21]

    def feeds() -> dict[str, NDArray[np.generic]]:
        made: dict[str, NDArray[np.generic]] = {}
        for spec in specs:
            if spec.numpy_dtype.kind == "f":
                made[spec.name] = rng.exponential(2, spec.shape).astype(spec.numpy_dtype)
            else:
                made[spec.name] = rng.integers(0, 1 if spec.name == "mask" else 9, spec.shape).astype(
                    spec.numpy_dtype
                )
        made["mask"][..., rng.integers(33)] = 1
        made["mask"][..., rng.integers(33)] = 1
        return made

    check(eviction_model(specs), tmp_path, feeds)
