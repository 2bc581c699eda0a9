# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot tune` on a real unit: smaller, the same for a seed, and what a build makes of the file."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

import passpilot
from passpilot.plugin.compile import emit
from passpilot.plugin.module import Module
from passpilot.training.rewards import symbol_sizes
from passpilot.training.tuning.decision_file import CallKey, read_decisions
from passpilot.training.tuning.influence import Influence, components
from passpilot.training.tuning.search import Search
from passpilot.training.tuning.unit import Asked, Candidate, Unit
from tests.command import passpilot as command
from tests.command import refused

COMPILES = 14


@pytest.fixture(scope="module")
def unit(corpus: Callable[[str, str], Path]) -> Path:
    """lz4's frame format, a unit that compiles in a tenth of a second."""
    return next(corpus("lz4", "Oz").parent.glob("*lz4frame*.bc"))


def test_a_unit_becomes_smaller_and_every_door_knows_how(unit: Path, tmp_path: Path) -> None:
    flags = (f"--compiles={COMPILES}", "--jobs=2")
    for name in ("one", "two"):
        done = command("tune", unit, *flags, "-o", f"{name}.decisions", cwd=tmp_path)
        assert done.code == 0, done.err
    assert (tmp_path / "one.decisions").read_bytes() == (tmp_path / "two.decisions").read_bytes()
    told = re.search(r"\.text (\d+) -> (\d+) bytes", done.err)
    assert told
    start, tuned = map(int, told.groups())
    assert tuned < start
    [decided] = read_decisions(str(tmp_path / "one.decisions"))
    again = Unit(Module.read(unit), "default<Oz>").compile_one(
        Candidate(decided.inline, decided.pipeline, outline=decided.outline)
    )
    assert again.text == tuned
    opted = command("opt", unit, "-Oz", "--decisions=one.decisions", "-o", "out.bc", cwd=tmp_path)
    assert (opted.code, opted.err) == (0, "")
    output = ("-filetype=obj", "-relocation-model=pic", "--decisions=one.decisions")
    assert command("llc", "out.bc", *output, "-o", "out.o", cwd=tmp_path).code == 0
    assert sum(symbol_sizes((tmp_path / "out.o").read_bytes()).values()) <= tuned


def test_influence() -> None:
    asked = {
        CallKey("main", "f", 1): Asked(inlined=True, default=True),
        CallKey("f", "g", 1): Asked(inlined=True, default=True),
        CallKey("other", "g", 1): Asked(inlined=False, default=False),
        CallKey("far", "away", 1): Asked(inlined=False, default=False),
    }
    influence = Influence(asked)
    assert influence.of(CallKey("f", "g", 1)) == {"f", "g", "main"}
    chosen, rest = influence.disjoint(asked)
    assert [call.caller for call in chosen] == ["main", "other", "far"]
    assert [call.caller for call in rest] == ["f"]
    whole = components([asked])
    assert whole["main"] == whole["f"] == whole["g"] != whole["other"]


def test_sizes_of_functions(unit: Path) -> None:
    code = emit(Module.read(unit), "obj")
    sizes = symbol_sizes(code)
    assert "LZ4F_compressFrame" in sizes
    assert all(size > 0 for size in sizes.values())


def test_a_failing_candidate_is_left_out(unit: Path) -> None:
    made = Unit(Module.read(unit), "default<Oz>").compile([Candidate(tail="no-such-pass"), Candidate()])
    assert made[0] is None
    assert made[1] is not None


def test_too_little_time_is_an_error(unit: Path) -> None:
    with pytest.raises(passpilot.errors.CompilationError, match="expected"):
        Search(Unit(Module.read(unit), "default<Oz>", deadline=0.001)).run()


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("none.bc", "-o", "x"), 1, "none.bc: expected a module to read"),
        (("none.bc",), 2, "the following arguments are required: "),
        (("none.bc", "-o", "x", "--budget=0"), 2, "expected a number of seconds above 0, got '0'"),
    ],
    ids=str,
)
def test_what_is_wrong_is_said(arguments: tuple[str, ...], code: int, told: str, tmp_path: Path) -> None:
    assert told in refused("tune", *arguments, cwd=tmp_path, code=code)
