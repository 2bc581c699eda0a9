# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exported models answer as their policies, and a model that does not is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

from passpilot.features.domain import Choice, Flag, Number
from passpilot.features.spec import TensorSpec
from passpilot.plugin.errors import ModelError
from passpilot.training.data.matrix import LARGEST, Arrangement, Examples
from passpilot.training.learning.export import GraphBuilder, _below, _float_limits, onnx_model
from passpilot.training.learning.export_check import OBSERVATIONS, ExportCheck, check_export
from passpilot.training.learning.learner import Scaling
from tests.training.learning.examples import arranged, decided


@dataclass
class Sums:
    """A policy that rates a row by the sum of some of its numbers, in as many outputs."""

    arrangement: Arrangement
    off: float = 0

    def scores(self, flat: np.ndarray) -> np.ndarray:
        """See `RatingModel`."""
        rows = self.arrangement.rows(flat)
        if self.arrangement.by_column:
            return np.asarray(rows.sum(axis=2, dtype=np.float32))
        sums = rows.sum(axis=1, keepdims=True, dtype=np.float32)
        return np.asarray(rows if self.arrangement.outputs > 1 else sums)

    def build(self, graph: GraphBuilder, rows: str) -> str:
        """See `RatingModel`."""
        if self.arrangement.outputs == 1:
            axis = graph.constant(np.array([1], np.int64), "axis")
            rows = graph.add("ReduceSum", rows, axis, keepdims=1)
        return graph.add("Add", rows, graph.constant(np.array(self.off, np.float32), "off"))

    def describe(self) -> str:
        """See `RatingModel`."""
        return "sums"


def exported(arrangement: Arrangement, scaling: Scaling | None = None, off: float = 0) -> onnx.ModelProto:
    """The model of sums."""
    return onnx_model(Sums(arrangement, off), arrangement, scaling or Scaling(), {"a": "1", "b": "2"})


def answered(model: onnx.ModelProto, rows: list[list[float]]) -> Any:
    """What a model says to rows."""
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {"features": np.array(rows, np.float32)})[0]


def output_of(model: onnx.ModelProto) -> str:
    """The name of what a model answers."""
    (output,) = model.graph.output
    return str(output.name)


TWO = TensorSpec("two", "int64", (2,))


def test_the_inliner_gets_a_probability_and_other_points_the_decision() -> None:
    inline = exported(arranged(Flag(), TWO, point="inline"))
    assert output_of(inline) == "probability"
    assert answered(inline, [[0, 0], [3, -1], [-2, 0]]).tolist() == [
        [pytest.approx(1 / (1 + np.exp(-each)), abs=1e-6)] for each in (0, 2, -2)
    ]
    other = exported(arranged(Flag(), TWO))
    made = answered(other, [[0, 0], [3, -2], [-3, 2]])
    assert (output_of(other), made.dtype, made.tolist()) == ("decision", np.int64, [[1], [1], [0]])


def test_choices_get_a_score_each() -> None:
    model = exported(arranged(Choice(2), TWO, TensorSpec("x", "int64", (1,)), default="none"))
    assert output_of(model) == "logits"
    assert answered(model, [[1, 2, 10], [3, 4, 20]]).tolist() == [[11, 12], [23, 24]]


def test_the_compilers_own_choice_is_told_of_its_column() -> None:
    own = TensorSpec("own", "int64", (1,))
    model = exported(arranged(Choice(3), own, TensorSpec("x", "int64", (3,)), default="own"))
    assert answered(model, [[2, 10, 20, 30], [0, 10, 20, 30]]).tolist() == [[10, 20, 31], [11, 20, 30]]


def test_numbers_are_scaled_and_clipped() -> None:
    model = exported(arranged(Number(-5, 100), TWO), Scaling(offset=1, factor=10))
    assert output_of(model) == "decision"
    assert answered(model, [[1, 1], [50, 0], [-1, -1]]).tolist() == [[21], [100], [-5]]


def test_numbers_that_are_none_count_as_zero() -> None:
    model = exported(arranged(Number(-1e38, 1e38), TensorSpec("x", "float32", (1,))))
    made = answered(model, [[np.nan], [np.inf], [-np.inf], [5]])
    assert made.ravel().tolist() == [0, np.float32(LARGEST), -np.float32(LARGEST), 5]


def test_a_model_has_facts_and_the_names_of_its_columns() -> None:
    model = exported(arranged(Flag(), TWO, TensorSpec("x", "int64", (1,))))
    told: Mapping[str, str] = {each.key: each.value for each in model.metadata_props}
    assert (told["a"], told["b"]) == ("1", "2")
    assert any("two" in value and "x" in value for value in told.values())
    assert (model.producer_name, model.graph.name, model.ir_version) == ("passpilot", "passpilot policy", 8)
    assert {each.domain: each.version for each in model.opset_import} == {"": 17, "ai.onnx.ml": 3}
    (given,) = model.graph.input
    assert [each.dim_param or each.dim_value for each in given.type.tensor_type.shape.dim] == ["N", 3]


@pytest.mark.parametrize("limit", [0.1, 0.3, 16777217, 1e39, -0.1, -16777217, -1e39])
def test_limits_as_floats_are_within_the_domain(limit: float) -> None:
    low, high = _float_limits(Number(limit - abs(limit), limit))
    assert high <= limit
    assert np.float32(high) == np.float32(high)
    assert low >= limit - abs(limit)
    assert abs(high - limit) <= abs(limit) * 1.2e-7 or abs(limit) > 1e38
    lower, _ = _float_limits(Number(limit, limit + abs(limit)))
    assert lower >= limit
    assert _below(limit) == high


def examples(arrangement: Arrangement, count: int = 50) -> Examples:
    """Decisions whose numbers are small."""
    flat = np.random.default_rng(1).integers(-9, 10, (count, arrangement.elements)).tolist()
    return decided(arrangement, flat, [0] * count)


def checked(arrangement: Arrangement, off: float, scaling: Scaling | None = None) -> ExportCheck:
    """The check of a model whose scores are `off`."""
    model = exported(arrangement, scaling, off).SerializeToString()
    parts = [examples(arrangement, 30), examples(arrangement, 20)]
    return check_export(model, Sums(arrangement), scaling or Scaling(), parts, 0)


ALL = [
    arranged(Flag(), TWO, point="inline"),
    arranged(Flag(), TWO),
    arranged(Choice(2), TWO),
    arranged(Number(-99, 99), TWO),
]


@pytest.mark.parametrize("arrangement", ALL, ids=["probability", "flag", "choice", "number"])
def test_an_export_that_is_right_differs_nowhere(arrangement: Arrangement) -> None:
    made = checked(arrangement, 0)
    assert (made.observations, made.differing) == (OBSERVATIONS, 0)
    assert made.distance < 1e-6


@pytest.mark.parametrize(
    ("arrangement", "off"),
    list(zip(ALL, (0.5, -1.5, 0.5, 0.5), strict=True)),
    ids=["p", "flag", "choice", "number"],
)
def test_an_export_that_is_wrong_is_refused(arrangement: Arrangement, off: float) -> None:
    with pytest.raises(
        ModelError, match=r"expected the decisions of the trained model, got others: \d+ of 10000"
    ):
        checked(arrangement, off)


def test_decisions_that_are_nearly_undecided_may_differ() -> None:
    made = checked(arranged(Flag(), TWO), -1e-4)
    assert 0 < made.differing < OBSERVATIONS / 2
    assert made.distance == 0, "a decision has no score"


def test_the_distance_of_scores_is_relative_to_the_largest() -> None:
    inline, choice, number = (checked(each, 1e-3) for each in (ALL[0], ALL[2], ALL[3]))
    assert inline.distance == pytest.approx(2.5e-4, rel=0.1), "of probabilities"
    for each in (choice, number):
        assert 1e-5 < each.distance < 2e-4
    assert choice.differing == 0


def test_illegal_choices_do_not_matter() -> None:
    arrangement = arranged(Choice(2), TWO)
    flat, mask = [[1, 1], [5, -5]], [[0, 1], [1, 0]]
    parts = [decided(arrangement, flat, [1, 0], mask=mask), examples(arrangement, 3)]
    made = check_export(exported(arrangement).SerializeToString(), Sums(arrangement), Scaling(), parts, 3)
    assert made.differing == 0


@pytest.mark.parametrize("count", [9_999, 10_001])
def test_observations_are_of_the_data_first(count: int) -> None:
    arrangement = arranged(Number(-99, 99), TWO)
    seen: list[np.ndarray] = []

    class Seeing(Sums):
        def scores(self, flat: np.ndarray) -> np.ndarray:
            seen.append(flat)
            return super().scores(flat)

    data = decided(arrangement, [[at, 0] for at in range(count)], [0] * count)
    check_export(exported(arrangement).SerializeToString(), Seeing(arrangement), Scaling(), [data], 0)
    (flat,) = seen
    assert len(flat) == OBSERVATIONS
    known = min(count, OBSERVATIONS)
    assert len(set(flat[:known, 0].tolist())) == known
    assert (flat == np.round(flat)).all(), "whole numbers stay whole when they are distorted"
