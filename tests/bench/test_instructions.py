# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Commands are compared by the instructions of all their processes, and starts by what they contain."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.lib import instructions as counting
from bench.lib.instructions import instructions
from bench.lib.turns import QUIET, STARTS, slowness


def test_more_work_has_more_instructions(tmp_path: Path) -> None:
    loop = "i=0; while [ $i -lt {} ]; do i=$((i+1)); done"
    commands = {
        "short": ["sh", "-c", loop.format(10)],
        "long": ["sh", "-c", loop.format(2000)],
        "idle child": ["sh", "-c", f"sh -c '{loop.format(10)}'; true"],
        "busy child": ["sh", "-c", f"sh -c '{loop.format(2000)}'; true"],
        "in the folder": ["sh", "-c", "test -e here"],
    }
    (tmp_path / "here").touch()
    counts = instructions(commands, tmp_path)
    assert list(counts) == list(commands)
    assert counts["long"] > 2 * counts["short"]
    assert counts["busy child"] > 2 * counts["idle child"]


def test_a_command_that_fails_is_named() -> None:
    with pytest.raises(SystemExit, match=r"success of \['sh', '-c', 'exit 3'\], got .*3"):
        instructions({"wrong": ["sh", "-c", "exit 3"]})


def test_a_command_has_a_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "DEADLINE", 0.005)
    with pytest.raises(SystemExit, match=r"within 0\.005 s"):
        instructions({"slow": ["sleep", "30"]})


def test_valgrind_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(SystemExit, match="valgrind is not on the PATH"):
        instructions({"any": ["true"]})


@pytest.mark.parametrize(("seconds", "slower"), [(QUIET, 2.0), (QUIET / 4, 1.0)])
def test_only_a_slower_machine_is_allowed_for(seconds: float, slower: float) -> None:
    assert slowness({name: [seconds * 3, seconds] for name in STARTS}) == slower
