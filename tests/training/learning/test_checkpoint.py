# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checkpoints are read as they were written, and others are refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from passpilot.plugin.errors import InputError
from passpilot.training.learning import checkpoint
from passpilot.training.learning.checkpoint import Checkpoint, prefixed, without_prefix


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = str(tmp_path / "c.npz")
    arrays: dict[str, np.ndarray] = {"a": np.arange(3, dtype=np.int16), "b": np.array([[1.5]], np.float32)}
    Checkpoint("key", {"rows": [{"round": 1}], "seconds": 2.5}, arrays).write(path)
    found = Checkpoint.read(path, "key")
    assert (found.key, found.facts) == ("key", {"rows": [{"round": 1}], "seconds": 2.5})
    assert {name: (each.dtype, each.tolist()) for name, each in found.arrays.items()} == {
        name: (each.dtype, each.tolist()) for name, each in arrays.items()
    }
    with pytest.raises(InputError, match=r"c\.npz: expected a checkpoint of the same settings and data"):
        Checkpoint.read(path, "other")


def test_another_format_is_another_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(tmp_path / "c.npz")
    monkeypatch.setattr(checkpoint, "FORMAT", 3)
    Checkpoint("key", {}, {}).write(path)
    monkeypatch.undo()
    with pytest.raises(InputError, match="got another one; train without --resume, or into another folder"):
        Checkpoint.read(path, "key")


@pytest.mark.parametrize("content", [b"", b"text", b"PK\3\4", b"\x93NUMPY\1\0"])
def test_another_file_is_none(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "c.npz").write_bytes(content)
    with pytest.raises(InputError, match=r"c\.npz: expected a checkpoint, got another file"):
        Checkpoint.read(str(tmp_path / "c.npz"), "key")


def test_arrays_without_facts_are_none(tmp_path: Path) -> None:
    np.savez(tmp_path / "c.npz", a=np.zeros(2))
    with pytest.raises(InputError, match="expected a checkpoint, got another file"):
        Checkpoint.read(str(tmp_path / "c.npz"), "key")
    with pytest.raises(InputError, match=r"none\.npz: expected a checkpoint, got: No such file"):
        Checkpoint.read(str(tmp_path / "none.npz"), "key")


def test_prefixes_keep_states_apart() -> None:
    one, two = np.zeros(1), np.ones(1)
    both = prefixed("last_", {"a": one, "last_": two}) | prefixed("best_", {"a": two})
    assert list(both) == ["last_a", "last_last_", "best_a"]
    assert without_prefix("last_", both) == {"a": one, "last_": two}
    assert without_prefix("best_", both) == {"a": two}
