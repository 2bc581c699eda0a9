# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot tune` on real modules: smaller, the same for a seed, and what a build makes of the file."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import passpilot
from passpilot.plugin.errors import Error
from passpilot.training.machines.local import Machines
from passpilot.training.rewards import allocated_bytes
from passpilot.training.tuning.decision_file import read_decisions, word_kind
from passpilot.training.tuning.engine import Engine
from passpilot.training.tuning.recipes import EVICTION, SCHEDULE
from passpilot.training.tuning.search import Known, Search
from passpilot.training.tuning.sizes import LinkedSizes, Sizes, object_sizes
from passpilot.training.tuning.study import Budget
from passpilot.training.tuning.unit import LLVMS_OWN, Compiled, UnitChoice
from tests.command import passpilot as command
from tests.command import refused
from tests.training.tuning.units import modules, searched, units

COMPILES = 14


@pytest.fixture(scope="module")
def unit(corpus: Callable[[str, str], Path]) -> Path:
    """lz4's frame format, a unit that compiles in a tenth of a second."""
    return next(corpus("lz4", "Oz").parent.glob("*lz4frame*.bc"))


def test_a_unit_becomes_smaller_and_every_door_knows_how(unit: Path, tmp_path: Path) -> None:
    flags = (f"--compiles={COMPILES}", "--jobs=2", "--result=result.json")
    for name in ("one", "two"):
        done = command("tune", unit, *flags, "-o", f"{name}.decisions", cwd=tmp_path)
        assert done.code == 0, done.err
    assert (tmp_path / "one.decisions").read_bytes() == (tmp_path / "two.decisions").read_bytes()
    assert not list(tmp_path.glob("*.search"))
    sizes = r"\.text .*, stripped .*, xz "
    told = re.search(rf"lz4frame\S*: allocated (\d+) -> (\d+) bytes \(0\.\d+\); {sizes}", done.err)
    assert told
    start, tuned = map(int, told.groups())
    assert tuned < start
    [decided] = read_decisions(str(tmp_path / "one.decisions"))
    assert sum(decided.gains.values()) <= start - tuned
    (found,) = units([unit], sections=False)
    choice = UnitChoice(decided.inline, decided.pipeline, tuple(decided.options))
    (again,) = Engine([found]).compile([(0, choice)])  # its options must not stay in this process
    assert isinstance(again, Compiled)
    assert object_sizes([again]).total == tuned
    opted = command("opt", unit, "-Oz", "--decisions=one.decisions", "-o", "out.bc", cwd=tmp_path)
    assert (opted.code, opted.err) == (0, "")
    output = ("-filetype=obj", "-relocation-model=pic", "--decisions=one.decisions")
    assert command("llc", "out.bc", *output, "-o", "out.o", cwd=tmp_path).code == 0
    assert allocated_bytes((tmp_path / "out.o").read_bytes()) == tuned


@pytest.mark.parametrize("lever", ["size", "unroll", "vectorize", "eviction", "schedule"])
def test_levers_that_are_asked_for(lever: str, tmp_path: Path) -> None:
    """They search nothing else, and never make a program larger."""
    folder = tmp_path / "in"
    folder.mkdir()
    whole = units(modules(folder))
    found = Search(
        whole, Engine(whole, Machines(2)), object_sizes, Budget(100 * len(whole)), levers=[lever]
    ).run()
    assert found.best.total <= found.start.total
    assert (found.best.total < found.start.total) == (lever in ("eviction", "schedule")), (
        "the others do nothing here"
    )
    tried = {"eviction": len(EVICTION), "schedule": len(SCHEDULE), "vectorize": 1}.get(lever, 2)
    assert len(whole) * (1 + tried) <= found.compiles <= len(whole) * (2 + tried)
    for made in found.best.units:
        assert (made.choice.inline, made.choice.tail) == ({}, "")
        assert bool(made.choice.options) <= (lever in ("eviction", "schedule"))
        assert {word_kind(word) for words in made.choice.functions.values() for word in words} <= {lever}


def test_a_program_becomes_smaller(tmp_path: Path) -> None:
    whole = units(modules(tmp_path))
    measure = LinkedSizes(["clang++-22", 0, 1, "-Wl,--gc-sections"], str(tmp_path))
    found = Search(whole, Engine(whole, Machines(2)), measure, Budget(30)).run()
    start, best = found.start.sizes, found.best.sizes
    assert best.total < start.total
    assert "_Z6unusedi" not in start.functions
    assert start.owners["_ZNK3BoxILi5EE3sumEv"] == 0  # both units have a copy, and the first counts
    assert {name for name in start.functions if name.endswith(":_ZL3mixii")} == {
        "0:_ZL3mixii",
        "1:_ZL3mixii",
    }
    assert sum(start.objects) <= start.total
    summed = object_sizes(found.start.units)
    assert summed.functions["_Z6unusedi"] > 0
    assert summed.total > sum(start.objects)


def test_the_same_compilations_give_the_same(tmp_path: Path) -> None:
    paths = modules(tmp_path)
    one, two = searched(units(paths)), searched(units(paths))
    assert one.best.total == two.best.total < one.start.total
    assert [each.code for each in one.best.units] == [each.code for each in two.best.units]
    assert [(compiles, size) for compiles, _, size in one.curve] == [
        (compiles, size) for compiles, _, size in two.curve
    ]


def test_only_what_is_smaller_is_kept(tmp_path: Path) -> None:
    totals: list[float] = []

    def measure(made: Sequence[Compiled]) -> Sizes:
        sizes = object_sizes(made)
        totals.append(sizes.total)
        return sizes

    whole = units(modules(tmp_path))
    found = Search(whole, Engine(whole, Machines(2)), measure, Budget(30), levers=["inline"]).run()
    assert max(totals) > found.start.total, "some trials are larger"
    assert found.best.total == object_sizes(found.best.units).total == min(totals)
    curve = [size for _, _, size in found.curve]
    assert curve == sorted(set(curve), reverse=True)


def test_only_what_is_asked_is_searched(tmp_path: Path) -> None:
    whole = units(modules(tmp_path))

    def choices(*levers: str) -> list[UnitChoice]:
        search = Search(whole, Engine(whole, Machines(2)), object_sizes, Budget(24), levers=levers)
        return [each.choice for each in search.run().best.units]

    inlined, passed = choices("inline"), choices("pipeline", "options")
    assert any(each.inline for each in inlined)
    assert not any(each.tail or each.options for each in inlined)
    assert any(each.tail for each in passed)
    assert not any(each.inline for each in passed)


def test_functions_that_have_not_changed_are_not_searched_again(tmp_path: Path) -> None:
    whole = units(modules(tmp_path))
    first = searched(whole)
    known = [each.choice for each in first.best.units]

    def again(unchanged: frozenset[str]) -> Search:
        earlier = [Known(choice, unchanged) for choice in known]
        return Search(whole, Engine(whole, Machines(2)), object_sizes, Budget(20), known=earlier).run()

    found = again(frozenset(each.name for unit in whole for each in unit.module.functions))
    assert found.best.total == first.best.total
    assert found.compiles == 2 * len(whole), "LLVM's own decisions, and the known ones"
    assert again(frozenset()).compiles > found.compiles


def test_a_failing_choice_is_an_error_of_its_own(tmp_path: Path) -> None:
    whole = units(modules(tmp_path))
    made = Engine(whole, Machines(2)).compile([(0, UnitChoice(tail="no-such-pass")), (1, LLVMS_OWN)])
    assert isinstance(made[0], Error)
    assert not isinstance(made[1], Error)


def test_too_little_time_is_an_error(unit: Path) -> None:
    whole = units([unit])
    with pytest.raises(passpilot.errors.CompilationError, match=r"expected .* within 0\.001 "):
        Search(whole, Engine(whole, Machines(1), deadline=0.001), object_sizes).run()


def test_a_program_that_does_not_link_is_an_error(tmp_path: Path) -> None:
    whole = units(modules(tmp_path))
    measure = LinkedSizes(["clang++-22", 0], str(tmp_path))
    with pytest.raises(passpilot.errors.CompilationError, match=r"expected the program to link, got .*other"):
        Search(whole, Engine(whole, Machines(2)), measure).run()


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("none.bc", "-o", "x"), 1, "none.bc: expected a module to read"),
        (("none.bc",), 2, "tune: expected -o and a decision file to write, got none"),
        (("--", "make"), 2, "tune: expected -o and a folder for what is found, got none"),
        (("main.c",), 2, "got main.c, no module; put the command that builds the program behind --, such as"),
        (("none.bc", "-o", "none/x"), 1, "none is none; make it by `mkdir -p "),
        (("none.bc", "-o", "."), 1, "tune: -o: expected a file to write, got ., a folder"),
        (
            ("none.bc", "-o", "x", "--result=none/x"),
            1,
            "--result: expected a file in a folder, got none/x",
        ),
        (("-o", "/dev/null/x", "--", "make"), 1, "tune: -o: expected a folder in a folder, got /dev/null/x"),
        (
            ("none.bc", "-o", "x", "--update=none"),
            1,
            "a decision file or a study, got none, no file",
        ),
        (("none.bc", "-o", "x", "--budget=0"), 2, "expected a number of seconds above 0, got '0'"),
        (
            ("a.bc", "-o", "x", "--search=inlines"),
            2,
            "options, size, unroll, vectorize, eviction, schedule, got 'inlines'; did you mean 'inline'?",
        ),
        (
            ("a.bc", "-o", "x", "--lto"),
            2,
            "--lto: expected programs, and the pipeline of their level, got a module",
        ),
        (("-o", "x"), 2, "expected modules, or --corpus=DIR, or -- and the command of a build"),
        (("a.bc", "-o", "x", "--", "make"), 2, "expected modules, or --corpus=DIR, or -- and"),
        (("-o", "x", "--corpus=none"), 1, "none: expected the folder of a corpus, got no such"),
        (("-o", "x", "--", "true"), 1, "expected true to compile something, got nothing"),
        (("-o", "x", "--", "false"), 1, "expected false to succeed, got exit code 1"),
        (
            ("-o", "x", "--", "./none"),
            1,
            "got ./none, which is not found or cannot be run",
        ),
    ],
    ids=str,
)
def test_what_is_wrong_is_said(arguments: tuple[str, ...], code: int, told: str, tmp_path: Path) -> None:
    assert told in refused("tune", *arguments, cwd=tmp_path, code=code)
