# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Who answers as LLVM's own heuristic does gets the very output of the stock opt."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from difflib import unified_diff
from itertools import islice
from pathlib import Path

import pytest

from tests import stock
from tests.corpus.programs import LEVELS, programs
from tests.passes.inline import crafted
from tests.passes.inline.echoes import ECHOES, compiled

RUNS = 20
"""Stock runs before an output counts as one that stock opt does not give."""
SHOWN = 40
"""Lines of a difference that a failure shows."""
ASKING = ("python", "log", "native")
LARGEST = ("sqlite", "zstd", "bullet", "re2", "cmark-gfm", "lua", "lz4")
"""Programs that only the soak compiles."""
LARGE = (*LARGEST, "picosat", "libyaml", "box2d")
"""Programs that are compiled at Oz alone, and at O2 in the soak."""


def assert_same_as_stock(source: Path, pipeline: str, kind: str, folder: Path) -> None:
    """Compares without showing megabytes; `kind` is one of `ECHOES`.

    Stock opt has two outputs for some inputs (a symbol table's order that follows addresses; box2d at O2 is
    one): where ours is not the first that it gives, it must be one that it gives.
    """
    ours = compiled(source, pipeline, ECHOES[kind](folder))
    for _ in range(RUNS):
        theirs = stock.opt(source, pipeline)
        if ours[1] == theirs[1] and stock.same(ours[0], theirs[0]):
            return
    stock_lines, lines = (text.decode(errors="replace").splitlines() for text in (theirs[1], ours[1]))
    changes = [*islice(unified_diff(stock_lines, lines, "stock", "ours", lineterm="", n=0), SHOWN)]
    pytest.fail("\n".join([f"{source} at {pipeline}, {kind}:", *(changes or ["the bitcode alone differs"])]))


def whole_programs() -> Iterator[object]:
    """Every program at Oz and O2, each with one of the echoes, so that all of them are used at both."""
    for i, name in enumerate(programs()):
        for j, level in enumerate(LEVELS):
            soaks = name in LARGEST or (name in LARGE and level == "O2")
            marks = [pytest.mark.soak] if soaks else []
            yield pytest.param(name, level, ASKING[(i + j) % len(ASKING)], id=f"{name}-{level}", marks=marks)


@pytest.fixture
def source(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    path = tmp_path / f"{request.param}.ll"
    path.write_text(crafted.ALL[request.param])
    return path


@pytest.mark.parametrize("source", crafted.ALL, indirect=True)
def test_the_pass_print_writes_what_opt_prints(source: Path) -> None:
    bitcode, assembly = stock.opt(source, "default<Oz>")
    assert assembly == stock.run("opt", "-passes=default<Oz>", "-S", source)
    assert bitcode == stock.run("opt", "-passes=default<Oz>", source, "-o", "-")


def test_records_tell_modules_apart(tmp_path: Path) -> None:
    """What is compared with LLVM 23 where the bytes differ."""
    source = tmp_path / "module.ll"

    def records(value: int) -> list[bytes]:
        source.write_text(f"define i32 @f() {{\n  ret i32 {value}\n}}\n")
        return stock.records(stock.opt(source, "")[0])

    assert records(1) == records(1) != records(2)


@pytest.mark.parametrize("pipeline", ["inliner-wrapper", *(f"default<{level}>" for level in stock.LEVELS)])
@pytest.mark.parametrize("source", crafted.ALL, indirect=True)
def test_crafted_input(source: Path, pipeline: str, tmp_path: Path) -> None:
    plain = stock.opt(source, pipeline)
    for kind, make in ECHOES.items():
        assert compiled(source, pipeline, make(tmp_path)) == plain, kind


@pytest.mark.timeout(900)
@pytest.mark.parametrize(("name", "level", "kind"), list(whole_programs()))
def test_whole_program(
    corpus: Callable[[str, str], Path], tmp_path: Path, name: str, level: str, kind: str
) -> None:
    assert_same_as_stock(corpus(name, level), f"default<{level}>", kind, tmp_path)


@pytest.mark.parametrize(("name", "level"), [("picosat", "Oz"), ("libsvm", "O2")])
def test_default_without_a_log(
    corpus: Callable[[str, str], Path], tmp_path: Path, name: str, level: str
) -> None:
    assert_same_as_stock(corpus(name, level), f"default<{level}>", "default", tmp_path)


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.filterwarnings("ignore:.*was never asked")
@pytest.mark.parametrize("level", stock.LEVELS)
@pytest.mark.parametrize("name", programs())
def test_every_unit(corpus: Callable[[str, str], Path], tmp_path: Path, name: str, level: str) -> None:
    folder = corpus(name, "Oz" if level in ("Os", "Oz") else "O2").parent
    units = sorted(path for path in folder.glob("*.bc") if path.name != "whole.bc")
    assert units
    for i, unit in enumerate(units):
        kind = list(ECHOES)[i % len(ECHOES)]
        own = tmp_path / str(i)
        own.mkdir()
        assert_same_as_stock(unit, f"default<{level}>", kind, own)
