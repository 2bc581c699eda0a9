# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Passes that read everything the view has, anywhere in a pipeline, leave its bytes as they are without them.

LLVM's passes look for what its managers have cached, and name values after what scalar evolution remembers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from passpilot.passes.optimize import optimize
from passpilot.passes.python.api import unregister
from passpilot.plugin.ir import Function
from passpilot.plugin.module import Module
from tests.corpus.programs import programs
from tests.passes.python.passes import LEVELS as PASS_LEVELS
from tests.passes.python.passes import LOOPS, define
from tests.plugin.ir.reader import read_all

LEVELS: Final = ("O2", "Oz")
AT: Final = {
    "pipeline-start": "read-module",
    "peephole": "read-function",
    "cgscc-optimizer-late": "read-cgscc,function(read-function)",
    "late-loop-optimizations": "read-loop",
    "loop-optimizer-end": "read-loop",
    "optimizer-early": "read-module",
    "vectorizer-start": "read-function",
    "optimizer-last": "cgscc(read-cgscc),read-module",
}
CRAFTED: Final = sorted(LOOPS.parent.glob("*.ll"))


@pytest.fixture
def answers() -> Iterator[dict[str, int]]:
    """How many answers the readers got; one pass of each level is registered."""
    got = dict.fromkeys(PASS_LEVELS, 0)

    def run(level: str, unit: object) -> bool:
        got[level] += read_all(unit)
        return False

    names = [define(level, partial(run, level), f"read-{level}") for level in PASS_LEVELS]
    yield got
    for name in names:
        unregister(name)


def bytes_after(source: Path, pipeline: str, at: dict[str, str] | None = None) -> bytes:
    module = Module.read(source)
    optimize(module, pipeline, at=at or {})
    return module.bitcode()


def check(source: Path, level: str, answers: dict[str, int]) -> None:
    pipeline = f"default<{level}>"
    assert bytes_after(source, pipeline, AT) == bytes_after(source, pipeline)
    assert all(answers.values()), answers


def test_a_real_unit(answers: dict[str, int]) -> None:
    check(programs()["lua"].unit("src/lgc.c", "O2"), "O2", answers)


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize("level", LEVELS)
def test_a_larger_program(corpus: Callable[[str, str], Path], answers: dict[str, int], level: str) -> None:
    check(corpus("lua", level), level, answers)
    check(corpus("lz4", level), level, answers)


def test_the_trip_counts_of_some_loops(corpus: Callable[[str, str], Path], answers: dict[str, int]) -> None:
    """What scalar evolution is asked first it names first: LLVM's own must not be asked."""
    source = corpus("libsvm", "O2")

    def run(function: Function) -> bool:
        answers["loop"] += sum(loop.trip_count is None for loop in function.loops if not loop.subloops)
        return False

    name = define("function", run, "read-trip-counts")
    try:
        read = bytes_after(source, "default<O2>", {"vectorizer-start": name})
    finally:
        unregister(name)
    assert read == bytes_after(source, "default<O2>")
    assert answers["loop"] > 0


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("source", CRAFTED, ids=lambda path: path.stem)
def test_small_programs(source: Path, answers: dict[str, int], level: str) -> None:
    pipeline = f"default<{level}>"
    assert bytes_after(source, pipeline, AT) == bytes_after(source, pipeline)
    assert answers["module"] > 0


@pytest.mark.parametrize(
    ("reading", "plain"),
    [
        ("function(read-function,sroa,read-function,gvn,read-function)", "function(sroa,gvn)"),
        ("function(loop(read-loop,indvars,read-loop),gvn)", "function(loop(indvars),gvn)"),
        (
            "function(loop-mssa(read-loop,licm,read-loop),loop-unroll)",
            "function(loop-mssa(licm),loop-unroll)",
        ),
        (
            "require<globals-aa>,cgscc(read-cgscc,inline,function(read-function,gvn))",
            "require<globals-aa>,cgscc(inline,function(gvn))",
        ),
    ],
)
@pytest.mark.usefixtures("answers")
def test_between_single_passes(corpus: Callable[[str, str], Path], reading: str, plain: str) -> None:
    source = corpus("libyaml", "O2").with_name("reader.c.bc")
    assert bytes_after(source, reading) == bytes_after(source, plain)
