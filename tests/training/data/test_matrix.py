# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Arrangement` and `Examples`: rows, columns, labels, weights, and the decisions that scores make."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from passpilot.features.domain import Choice, Flag, Number
from passpilot.features.point import find_point
from passpilot.features.spec import TensorSpec
from passpilot.plugin.errors import InputError, SpecMismatchError
from passpilot.training.data.matrix import LARGEST, Arrangement, Examples, ExampleWeights, Label, decide
from passpilot.training.data.shards import (
    DecisionRows,
    DecisionSchema,
    DecisionShards,
    ShardWriter,
    TextColumn,
)

SPECS = (
    TensorSpec("a", "int64", (3,)),
    TensorSpec("own", "int64", (1,)),
    TensorSpec("b", "float32", (1, 3)),
    TensorSpec("c", "float32", (1,)),
)
CHOICE = Arrangement("p", SPECS, Choice(3), default="own")
TENSORS = {
    "a": np.array([[1, 2, 3], [4, 5, 6]]),
    "own": np.array([[2], [0]]),
    "b": np.array([[[np.nan, np.inf, -np.inf]], [[7, 8, 9]]]),
    "c": np.array([[10], [11]]),
}
FLAT = np.array([[1, 2, 3, 2, 0, LARGEST, -LARGEST, 10], [4, 5, 6, 0, 7, 8, 9, 11]], np.float32)


def test_a_choice_is_a_row_per_column() -> None:
    assert (CHOICE.columns, CHOICE.by_column, CHOICE.outputs, CHOICE.elements) == (3, True, 1, 8)
    assert CHOICE.names == ("a", "own", "b", "c")
    assert CHOICE.own_choice == 3
    flat = CHOICE.flat(TENSORS)
    assert flat.dtype == np.float32
    assert (flat == FLAT).all()
    assert CHOICE.rows(flat).tolist() == [
        [[1, 0, 0, 10], [2, 0, float(np.float32(LARGEST)), 10], [3, 1, -float(np.float32(LARGEST)), 10]],
        [[4, 1, 7, 11], [5, 0, 8, 11], [6, 0, 9, 11]],
    ]


def test_a_decision_may_be_one_row_in_any_case() -> None:
    whole = replace(CHOICE, whole=True)
    assert (whole.by_column, whole.outputs, whole.own_choice) == (False, 3, None)
    assert whole.names == ("a[0]", "a[1]", "a[2]", "own", "b[0]", "b[1]", "b[2]", "c")
    assert (whole.rows(FLAT) == FLAT).all()
    assert whole.places().tolist() == [list(range(8))]
    assert (whole.extended(FLAT) == FLAT).all()


def test_where_no_model_sees_the_default_there_is_no_own_choice() -> None:
    assert replace(CHOICE, default="none").own_choice is None
    assert replace(CHOICE, default="a").own_choice == 0
    blind = replace(CHOICE, features=SPECS[2:])
    assert blind.own_choice is None
    assert blind.rows(FLAT[:, 4:])[1].tolist() == [[7, 11], [8, 11], [9, 11]]


def test_features_without_columns_make_one_row() -> None:
    single = replace(CHOICE, features=SPECS[1:2] + SPECS[3:])
    assert (single.by_column, single.outputs, single.names) == (False, 3, ("own", "c"))
    flag = Arrangement("p", SPECS[3:], Flag())
    assert (flag.columns, flag.by_column, flag.outputs) == (1, False, 1)


def test_integers_need_no_limit() -> None:
    plain = Arrangement("p", SPECS[:2], Flag())
    assert (plain.has_floats, CHOICE.has_floats) == (False, True)
    assert plain.flat(TENSORS).tolist() == [[1, 2, 3, 2], [4, 5, 6, 0]]


def test_the_features_of_a_point() -> None:
    inline, evict = find_point("inline"), find_point("evict")
    own = Arrangement.of(inline, ["*"])
    assert "inlining_default" not in own.names
    assert own.default == "inlining_default"
    assert Arrangement.of(inline, ["cost_estimate", "*", "cost_estimate"]).names[0] == "cost_estimate"
    assert len(Arrangement.of(inline, ["cost_estimate", "*"]).names) == len(own.names)
    assert Arrangement.of(inline, ["*", "inlining_default"]).names == (*own.names, "inlining_default")
    columns = Arrangement.of(evict, ["*"])
    assert columns.by_column
    assert "mask" not in columns.names
    assert not Arrangement.of(evict, ["*"], whole=True).by_column
    with pytest.raises(SpecMismatchError, match="none_such"):
        Arrangement.of(inline, ["none_such"])


def test_scores_become_decisions() -> None:
    scores = np.array([[-0.1], [0.0], [0.1]], np.float32)
    assert decide(Flag(), scores, None).tolist() == [0, 1, 1]
    columns = np.array([[1, 3, 3], [5, 4, 9]], np.float32)
    assert decide(Choice(3), columns, None).tolist() == [1, 2]
    mask = np.array([[True, False, True], [True, True, False]])
    assert decide(Choice(3), columns, mask).tolist() == [2, 0]
    numbers = np.array([[-9], [0.5], [9]], np.float32)
    assert decide(Number(-1, 2), numbers, None).tolist() == [-1, 0.5, 2]


def shard(folder: Path, programs: list[str], **tensors: list[int]) -> DecisionShards:
    """A shard of decisions at the point `inline` with one feature."""
    specs = [TensorSpec(name, "int64", (1,)) for name in ("x", "inlining_default", "inlining_decision")]
    schema = DecisionSchema("inline", tuple(specs[:2]), specs[2])
    count = len(programs)
    gains = np.array(tensors.pop("gain"), np.float32)
    texts = {name: TextColumn.same("t", count) for name in ("module", "context", "caller", "callee")}
    texts["program"] = TextColumn.of(programs)
    arrays = {name: np.array(values).reshape(-1, 1) for name, values in tensors.items()}
    writer = ShardWriter(str(folder / "a.parquet"), schema)
    writer.add(DecisionRows(schema, arrays, texts, gains))
    writer.close()
    return DecisionShards(folder)


@pytest.fixture
def shards(tmp_path: Path) -> DecisionShards:
    return shard(
        tmp_path,
        ["p", "q", "q", "p", "q"],
        x=[1, 2, 3, 4, 5],
        inlining_default=[0, 0, 1, 1, 0],
        inlining_decision=[0, 1, 1, 0, 0],
        gain=[0, 3, 200, 5, 7],
    )


def loaded(shards: DecisionShards, label: Label = "advice", **weights: float) -> Examples:
    arrangement = Arrangement("inline", (TensorSpec("x", "int64", (1,)),), Flag())
    return Examples.load(shards, arrangement, "inlining_default", label, ExampleWeights(**weights))


def test_examples_have_labels_and_programs(shards: DecisionShards) -> None:
    made = loaded(shards)
    assert made.flat.tolist() == made.rows.tolist() == [[1], [2], [3], [4], [5]]
    assert made.labels.tolist() == made.numbers.tolist() == [0, 1, 1, 0, 0]
    assert made.default.tolist() == [0, 0, 1, 1, 0]
    assert made.changed.tolist() == [False, True, False, True, False]
    assert [made.names[number] for number in made.programs] == ["p", "q", "q", "p", "q"]
    assert made.gains.tolist() == [0, 3, 200, 5, 7]
    assert (len(made), made.mask, made.targets, made.by_class) == (5, None, None, True)
    own = loaded(shards, "default")
    assert own.labels.tolist() == [0, 0, 1, 1, 0]
    assert not own.changed.any()


def test_the_worth_of_yes_is_learned_with_its_sign_and_margin(shards: DecisionShards) -> None:
    made = loaded(shards, "worth", most=50, margin=0.5)
    assert made.numbers.tolist() == [-0.5, 3 - 0.5, 50 + 0.5, -5 + 0.5, -7 - 0.5]
    assert made.labels.tolist() == [0, 1, 1, 0, 0]
    assert not made.by_class
    choice = Arrangement("evict", (TensorSpec("x", "int64", (1,)),), Choice(2))
    with pytest.raises(InputError, match="label worth: expected a point of yes or no, got evict"):
        Examples.load(shards, choice, "inlining_default", "worth")


def test_weights_add_up(shards: DecisionShards) -> None:
    made = loaded(shards, base=2, changed=3, gain=0.5, most=20)
    expected = np.array([2, 2 + 3 + 1.5, 2 + 10, 2 + 3 + 2.5, 2 + 3.5])
    assert made.weights == pytest.approx(expected / expected.mean())
    half = loaded(shards, balance=0.5)
    sums = np.array([2, 3, 3, 2, 3]) ** -0.5
    assert half.weights == pytest.approx(sums / sums.mean())
    with pytest.raises(InputError, match="weights: expected one above 0, got none; the decisions have no"):
        loaded(shards, base=0)


def test_a_program_without_weight_is_no_division_by_zero(shards: DecisionShards) -> None:
    made = loaded(shards, base=0, changed=1, balance=1)
    assert made.weights == pytest.approx([0, 2.5, 0, 2.5, 0])
    assert np.isfinite(loaded(shards, base=0, gain=1, most=1, balance=1).weights).all()


def test_shards_without_decisions_teach_nothing(tmp_path: Path) -> None:
    empty = shard(tmp_path, [], x=[], inlining_default=[], inlining_decision=[], gain=[])
    with pytest.raises(InputError, match=r"a.parquet: expected decisions, got none"):
        loaded(empty)


def test_the_mask_of_a_choice(tmp_path: Path) -> None:
    made = shard(
        tmp_path, ["p", "p"], x=[1, 2], inlining_default=[0, 1], inlining_decision=[1, 1], gain=[0, 0]
    )
    arrangement = Arrangement("p", (TensorSpec("x", "int64", (1,)),), Choice(2, mask="x"))
    found = Examples.load(made, arrangement, "inlining_default")
    assert found.mask is not None
    assert found.mask.tolist() == [[True], [True]]
    absent = replace(arrangement, domain=Choice(2, mask="absent"))
    assert Examples.load(made, absent, "inlining_default").mask is None
