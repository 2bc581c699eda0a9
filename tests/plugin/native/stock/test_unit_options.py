# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""LLVM's options of a decision file hold for their module alone, however many a process compiles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from passpilot.plugin.toolchain import llvm_plugin
from tests.corpus.build import bindir
from tests.plugin.native.stock.tools import Done, run

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

DENSITIES: Final = {"a": 5, "b": 90, "c": None, "d": 60}
"""By unit, the least density of a jump table where size counts; LLVM's own is 40."""
GAPS: Final = (5, 2, 1)
"""Switches with a case at every fifth, every second and every number."""
FUNCTIONS: Final = 12
HEAD: Final = "passpilot decisions 1\n"


def text(unit: str) -> str:
    """Functions whose switches become jump tables or not, by the option."""
    functions = ["volatile int sink;\n" if unit == "a" else "extern volatile int sink;\n"]
    for number in range(FUNCTIONS):
        gap = GAPS[number % len(GAPS)]
        cases = "".join(switch_case(gap * n + n // 5, 9 * n + number) for n in range(13))
        functions.append(f"int {unit}{number}(int x) {{ switch (x) {{{cases} }} return sink; }}\n")
    return "".join(functions)


def switch_case(value: int, result: int) -> str:
    return f" case {value}: sink = {result}; sink += x; break;"


def section(unit: str, option: str) -> str:
    return f"unit {unit}.c\noption {option}\n"


@pytest.fixture(scope="module", params=["thin", "full"])
def objects(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the units, prepared for the linker."""
    folder = tmp_path_factory.mktemp(request.param)
    for unit in DENSITIES:
        (folder / f"{unit}.c").write_text(text(unit))
        words = ("-Oz", "-fPIC", "-fvisibility=protected", f"-flto={request.param}", "-c", f"{unit}.c")
        assert run(bindir() / "clang", *words, cwd=folder).code == 0
    return folder


def link(folder: Path, decisions: str, *flags: str, env: Mapping[str, str] | None = None) -> Done:
    """Link with these decisions; the machine code is in code.o and so on."""
    for old in [*folder.glob("code.o*"), *folder.glob("out.so")]:
        old.unlink()
    others = [f"unit {unit}.c\n" for unit in DENSITIES if decisions and f"unit {unit}.c\n" not in decisions]
    (folder / "decisions").write_text(HEAD + decisions + "".join(others))
    units = [f"{unit}.o" for unit in DENSITIES]
    load = f"--load-pass-plugin={llvm_plugin()}"
    words = (load, "-shared", *units, "--lto-obj-path=code.o", "-o", "out.so", *flags)
    env = {"PASSPILOT_DECISIONS": "decisions", **(env or {})}
    return run(bindir() / "ld.lld", *words, cwd=folder, env=env)


def code(folder: Path, decisions: str, *flags: str, env: Mapping[str, str] | None = None) -> list[bytes]:
    """The machine code of each module."""
    done = link(folder, decisions, *flags, env=env)
    assert (done.code, done.err) == (0, "")
    paths = sorted(folder.glob("code.o[1-9]*")) or [folder / "code.o"]
    return [path.read_bytes() for path in paths]


@pytest.mark.parametrize("name", ["optsize-jump-table-density={}", "enable-machine-outliner=always"])
@pytest.mark.parametrize("objects", ["thin"], indirect=True)
def test_a_module_of_a_link_has_its_own_options(objects: Path, name: str) -> None:
    """Its code is that of a link in which no other module has options, on any number of threads."""
    options = {unit: name.format(value) for unit, value in DENSITIES.items() if value}
    if "{" not in name:
        del options["b"]
    alone = {
        unit: code(objects, section(unit, options[unit]) if unit in options else "", "--thinlto-jobs=1")
        for unit in DENSITIES
    }
    expected = [alone[unit][index] for index, unit in enumerate(DENSITIES)]
    for index, unit in enumerate(DENSITIES):
        assert (alone[unit][index] != alone["c"][index]) is (unit in options), unit
    together = "".join(section(*pair) for pair in options.items())
    for jobs in (1, 2, 4, 4):
        found = code(objects, together, f"--thinlto-jobs={jobs}")
        assert [mine == theirs for mine, theirs in zip(found, expected, strict=True)] == [True] * 4, jobs


def test_what_the_user_sets_wins(objects: Path) -> None:
    """In every module, and what the file sets for others changes nothing."""
    flag = "-mllvm=-optsize-jump-table-density=70"
    units = [*(f"{unit}.c" for unit in DENSITIES), "ld-temp.o"]
    decisions = "".join(f"unit {unit}\noption optsize-jump-table-density=5\n" for unit in units)
    assert code(objects, decisions, flag, "--thinlto-jobs=2") == code(objects, "", flag)


@pytest.mark.parametrize("objects", ["full"], indirect=True)
def test_parts_that_are_compiled_in_parallel_have_the_options_of_their_module(objects: Path) -> None:
    decisions = "unit ld-temp.o\noption {}\n"
    for option in ("optsize-jump-table-density=90", "enable-machine-outliner=always"):
        for parts in ("--lto-partitions=1", "--lto-partitions=4"):
            flag = f"-mllvm=-{option}"
            mine = code(objects, decisions.format(option), parts)
            assert mine == code(objects, "", parts, flag) != code(objects, "", parts)


@pytest.mark.parametrize("objects", ["thin"], indirect=True)
def test_a_value_that_llvm_refuses_ends_the_link(objects: Path) -> None:
    done = link(objects, section("b", "optsize-jump-table-density=many"), "--thinlto-jobs=2")
    wrong = 'expected optsize-jump-table-density=a number, got "optsize-jump-table-density=many"'
    assert done.code == 1
    assert f"decisions decisions:3: {wrong}; make the file" in done.err
    assert ": for the --" not in done.err
    assert not (objects / "out.so").exists()
