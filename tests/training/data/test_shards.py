# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shards keep what a log has, are read in a stream, and are checked."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

import passpilot
from passpilot.features.log.reader import read_log
from passpilot.features.point import find_point
from passpilot.features.spec import TensorSpec
from passpilot.plugin.errors import InputError
from passpilot.training.data.gather import logged_decisions
from passpilot.training.data.shards import (
    ROWS,
    TEXTS,
    DecisionRows,
    DecisionSchema,
    DecisionShards,
    ShardWriter,
    TextColumn,
)
from passpilot.training.task import Task


def logged(module: Path, log: Path, point: str) -> Path:
    with passpilot.advisor(point, "default", log=str(log)) as advisor:
        Task(module.read_bytes(), "default<Oz>", {}, 2, None, "").run([advisor])
    return log


@pytest.mark.parametrize("point", ["inline", "evict"])
def test_a_shard_has_what_the_log_has(point: str, program: Path, pressed: Path, tmp_path: Path) -> None:
    log = logged(program if point == "inline" else pressed, tmp_path / "a.log", point)
    rows = logged_decisions(str(log), point, "prog", "a.c")
    writer = ShardWriter(str(tmp_path / "prog.parquet"), rows.schema)
    writer.add(rows)
    writer.add(rows)
    writer.close()
    shards = DecisionShards(tmp_path / "prog.parquet")
    assert shards.schema.point == point
    assert len(shards) == 2 * len(rows) > 10
    arrays, wanted = shards.arrays(), read_log(log).to_arrays()
    for spec in find_point(point).features:
        assert arrays[spec.name].dtype == spec.numpy_dtype
        assert arrays[spec.name].tobytes() == np.concatenate([wanted[spec.name]] * 2).tobytes()
    assert set(arrays["program"]) == {"prog"}
    assert set(arrays["module"]) == {"a.c"}
    texts = read_log(log).to_arrays(["caller", "context"])
    assert arrays["caller"].tolist() == texts["caller"].tolist() * 2
    assert arrays["context"].tolist() == texts["context"].tolist() * 2


def test_shards_are_read_in_parts(program: Path, tmp_path: Path) -> None:
    rows = logged_decisions(str(logged(program, tmp_path / "a.log", "inline")), "inline", "p", "a.c")
    for name in ("a", "b"):
        writer = ShardWriter(str(tmp_path / f"{name}.parquet"), rows.schema)
        writer.add(rows)
        writer.close()
    shards = DecisionShards(tmp_path)
    parts = list(shards.batches(["callee_users", "callee"], 7))
    assert max(len(part["callee"]) for part in parts) == 7
    whole = shards.arrays(["callee_users", "callee"])
    for name in whole:
        assert np.array_equal(np.concatenate([part[name] for part in parts]), whole[name])
    with pytest.raises(InputError, match=r"expected columns among .*got nonsense"):
        shards.arrays(["nonsense"])


def test_all_decisions_need_no_memory_of_their_size(tmp_path: Path) -> None:
    schema = DecisionSchema("inline", (TensorSpec("x", "float32", (64,)),), TensorSpec("y", "int64", (1,)))
    writer = ShardWriter(str(tmp_path / "a.parquet"), schema)
    for number in range(8):
        tensors: dict[str, NDArray[np.generic]] = {"x": np.full((ROWS, 64), number, np.float32)}
        tensors["y"] = np.arange(ROWS).reshape(-1, 1)
        texts = {name: TextColumn.same(f"{name} {number}" + "x" * 99, ROWS) for name in TEXTS}
        writer.add(DecisionRows(schema, tensors, texts, np.zeros(ROWS, np.float32)))
    writer.close()
    shards = DecisionShards(tmp_path)
    tracemalloc.start()
    try:
        arrays = shards.arrays(["x", "y", "callee"])
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert arrays["x"].nbytes == 8 * ROWS * 64 * 4 > 3 * most
    assert (arrays["x"][:, 5] == np.repeat(np.arange(8), ROWS)).all()
    assert (arrays["y"].ravel() == np.tile(np.arange(ROWS), 8)).all()
    assert arrays["callee"][::ROWS].tolist() == [f"callee {number}" + "x" * 99 for number in range(8)]
    arrays["x"][0] = 8
    assert arrays["x"].max() == 8


def test_a_writer_refuses_another_table(program: Path, pressed: Path, tmp_path: Path) -> None:
    inline = logged_decisions(str(logged(program, tmp_path / "a.log", "inline")), "inline", "p", "a.c")
    evict = logged_decisions(str(logged(pressed, tmp_path / "b.log", "evict")), "evict", "p", "a.c")
    writer = ShardWriter(str(tmp_path / "a.parquet"), inline.schema)
    with pytest.raises(InputError, match="expected decisions with the tensors"):
        writer.add(evict)
    with pytest.raises(InputError, match="expected one of evict"):
        logged_decisions(str(tmp_path / "a.log"), "evict", "p", "a.c")


def test_wrong_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"no shard")
    with pytest.raises(InputError, match=r"a.parquet: expected a shard of decisions, got"):
        DecisionShards(tmp_path)
    pq.write_table(pa.table({"x": [1]}), tmp_path / "a.parquet")
    with pytest.raises(InputError, match="got another Parquet file"):
        DecisionShards(tmp_path)
    (tmp_path / "none").mkdir()
    with pytest.raises(InputError, match=r"none: expected a folder with \*.parquet"):
        DecisionShards(tmp_path / "none")
    with pytest.raises(InputError, match="expected shards, got none"):
        DecisionShards()
