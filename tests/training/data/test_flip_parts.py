# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What flips make of a teacher's decisions, teachers that cannot be flipped, and shards that do not fit."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from passpilot.features.spec import TensorSpec
from passpilot.plugin.errors import Error, InputError
from passpilot.training.corpus.layout import Corpus, CorpusUnit
from passpilot.training.data.flips import FlipSettings, OnnxDecider, gather_flips, judged
from passpilot.training.data.shards import (
    DecisionRows,
    DecisionSchema,
    DecisionShards,
    ShardWriter,
    TextColumn,
)
from passpilot.training.tuning.decision_file import CallKey

SCHEMA = DecisionSchema(
    "inline",
    (TensorSpec("x", "int64", (2,)), TensorSpec("inlining_default", "int64", (1,))),
    TensorSpec("inlining_decision", "int64", (1,)),
)


def rows_of(calls: list[str], decisions: list[int], schema: DecisionSchema = SCHEMA) -> DecisionRows:
    """Decisions about calls such as `f>g`."""
    count = len(calls)
    tensors = {
        "x": np.arange(2 * count).reshape(-1, 2),
        "inlining_default": np.zeros((count, 1), np.int64),
        "inlining_decision": np.array(decisions, np.int64).reshape(-1, 1),
    }
    texts = {name: TextColumn.same(f"\udcff{name}", count) for name in ("program", "module", "context")}
    texts["caller"] = TextColumn.of(call.partition(">")[0] for call in calls)
    texts["callee"] = TextColumn.of(call.partition(">")[2] for call in calls)
    return DecisionRows(schema, tensors, texts, np.zeros(count, np.float32))


def test_the_better_answers_of_flips() -> None:
    """The n-th call of a pair has the worth of that; calls that were not tried are left out."""
    rows = rows_of(["f>g", "f>g", "h>g", "f>g", "f>i"], [0, 1, 1, 1, 0])
    worths = {
        CallKey("f", "g", 1): 5.0,
        CallKey("f", "g", 2): 7.5,
        CallKey("h", "g", 1): -3.0,
        CallKey("f", "i", 1): 0.0,
        CallKey("f", "g", 4): 9.0,
    }
    made = judged(rows, worths)
    assert made.gains.tolist() == [5, 7.5, 3, 0]
    assert made.gains.dtype == np.float32
    assert made.tensors["inlining_decision"].tolist() == [[1], [0], [1], [0]]
    assert made.tensors["x"].tolist() == [[0, 1], [2, 3], [4, 5], [8, 9]]
    callers, callees = made.texts["caller"], made.texts["callee"]
    assert [callers.words[code] for code in callers.codes] == ["f", "f", "h", "f"]
    assert [callees.words[code] for code in callees.codes] == ["g", "g", "g", "i"]
    assert len(judged(rows, {})) == 0


@pytest.mark.parametrize("spec", ["const:0", "onnx:m.onnx?x=1", "default"])
def test_only_models_are_flipped(spec: str) -> None:
    with pytest.raises(InputError, match="--flips: expected the teacher default or onnx:FILE, got "):
        OnnxDecider(spec)


def test_a_model_must_name_its_columns(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none.onnx: expected a model, got: No such file or directory"):
        OnnxDecider(f"onnx:{tmp_path}/none.onnx")
    node = helper.make_node("Identity", ["in"], ["out"])
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 2]) for name in ("in", "out")]
    graph = helper.make_graph([node], "g", ends[:1], ends[1:])
    opset = [helper.make_opsetid("", 20)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=10), tmp_path / "m.onnx")
    with pytest.raises(InputError, match=r"m.onnx: expected a model that names its columns, got another one"):
        OnnxDecider(f"onnx:{tmp_path}/m.onnx")


def test_modules_without_a_link_cannot_be_flipped(tmp_path: Path) -> None:
    """The next program has its turn."""
    corpus = Corpus(tmp_path, {"a/x.c": CorpusUnit("a/x.c", tmp_path, ())})
    steps = list[int]()
    found = list(gather_flips(corpus, ["a", "b"], FlipSettings(1), lambda: steps.append(1)))
    assert [isinstance(each, Error) for each in found] == [True, True]
    expected = f"{tmp_path}: expected the link of a, got its modules alone"
    assert str(found[0]) == f"a: {expected}"
    assert len(steps) == 2


def write(path: Path, *parts: DecisionRows, schema: DecisionSchema = SCHEMA) -> None:
    writer = ShardWriter(str(path), schema)
    for each in parts:
        writer.add(each)
    assert writer.decisions == sum(map(len, parts))
    writer.close()


def test_a_shard_has_every_column(tmp_path: Path) -> None:
    write(tmp_path / "b.parquet", rows_of(["f>g", "h>g"], [0, 1]), rows_of([], []))
    write(tmp_path / "a.parquet", rows_of(["i>j"], [1]))
    (tmp_path / "c.txt").touch()
    shards = DecisionShards(tmp_path)
    assert [file.name for file in shards.files] == ["a.parquet", "b.parquet"]
    assert len(shards) == 3
    arrays = shards.arrays()
    assert list(arrays) == [
        *("x", "inlining_default", "inlining_decision"),
        *("program", "module", "context", "caller", "callee", "gain"),
    ]
    assert arrays["x"].tolist() == [[0, 1], [0, 1], [2, 3]]
    assert arrays["caller"].tolist() == ["i", "f", "h"]
    assert set(arrays["module"]) == {"\\xffmodule"}
    mixed = DecisionShards(tmp_path / "b.parquet", tmp_path / "a.parquet", tmp_path)
    assert [file.name[0] for file in mixed.files] == ["b", "a", "a", "b"]
    only = list(shards.batches(["gain", "x", "gain"], files=shards.files[1:]))
    assert [list(each) for each in only] == [["gain", "x"]]
    with pytest.raises(InputError, match=r"a.parquet: expected columns among x, .*, gain, got y, z"):
        list(shards.batches(["x", "y", "z"]))


def test_shards_without_decisions_have_empty_columns(tmp_path: Path) -> None:
    write(tmp_path / "a.parquet")
    shards = DecisionShards(tmp_path)
    arrays = shards.arrays()
    assert {name: each.shape for name, each in arrays.items()} == {
        "x": (0, 2),
        "inlining_default": (0, 1),
        "inlining_decision": (0, 1),
        "gain": (0,),
        **dict.fromkeys(("program", "module", "context", "caller", "callee"), (0,)),
    }
    assert arrays["x"].dtype == np.int64
    assert list(shards.arrays(["gain", "x"])) == ["gain", "x"]


def test_shards_must_be_alike(tmp_path: Path) -> None:
    write(tmp_path / "a.parquet", rows_of(["f>g"], [0]))
    other = DecisionSchema("evict", SCHEMA.features, SCHEMA.advice)
    write(tmp_path / "b.parquet", rows_of(["f>g"], [0], other), schema=other)
    with pytest.raises(InputError) as caught:
        DecisionShards(tmp_path)
    expected = f"expected the point and the tensors of {tmp_path}/a.parquet, got others"
    assert str(caught.value) == f"{tmp_path}/b.parquet: {expected}"


def test_a_shard_that_was_damaged_later_is_named(tmp_path: Path) -> None:
    write(tmp_path / "a.parquet", rows_of(["f>g"], [0]))
    shards = DecisionShards(tmp_path)
    data = (tmp_path / "a.parquet").read_bytes()
    (tmp_path / "a.parquet").write_bytes(data[:4] + b"\xff" * 300 + data[304:])
    with pytest.raises(InputError, match=r"a.parquet: expected a shard, got: .") as caught:
        shards.arrays()
    assert "\n" not in str(caught.value)
    (tmp_path / "a.parquet").unlink()
    with pytest.raises(InputError, match=r"a.parquet: expected a shard, got: .*No such file"):
        shards.arrays()


def test_without_pytorch_there_is_no_dataset_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "a.parquet", rows_of(["f>g"], [0]))
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "passpilot.training.data.torch_dataset", raising=False)
    with pytest.raises(InputError, match="training data: PyTorch is missing; run: pip install torch"):
        DecisionShards(tmp_path).torch_dataset(["x"])
