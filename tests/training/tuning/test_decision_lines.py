# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each kind of line of a decision file: what Python and the compiler take, and what both refuse."""

from __future__ import annotations

import re
from contextlib import nullcontext
from pathlib import Path

import pytest

import passpilot
from passpilot.passes.llvm_advisors import InlineAdvisor
from passpilot.plugin.errors import InputError, PasspilotWarning
from passpilot.training.tuning.decision_file import read_decisions
from tests.command import passpilot as command
from tests.training.tuning.test_decision_file import CALLS, calls_left, written

WRONG = (
    "inline x yes f g",
    "inline 1 true f g",
    "inline 1 yes f g many",
    "pipeline",
    "option",
    "function",
    "function  speed",
    "inline 1 yes  g",
    "function f unroll=0",
    "function f vectorize=3",
    "function f vectorize=2 vectorize=2",
    "function f unroll=x",
    "function f unroll=2 unroll=2",
    "function f nooutline nooutline",
    "function f minsize minsize",
    "function f size=4",
    "units a.c",
    "inline 1 yes f g\ninline 1 no f g",
    "inline 1 yes f% g",
    "inline 1 yes f g%4",
    "inline 1 yes f%zz g",
    "pipeline mergefunc\npipeline mergefunc",
    "function f speed\nfunction f speed",
    "inline 01 yes f g",
    "inline 1 yes f g ",
    "inline 4294967296 yes f g",
    "inline 1 yes f g 4294967296",
    "inline 1 yes f g \u0663",
    "function f speed ",
    "function f unroll=04",
    "searched ",
    "searched a  b",
)


@pytest.mark.parametrize("lines", WRONG)
def test_a_wrong_line_is_refused(lines: str, tmp_path: Path) -> None:
    """Comments and empty lines count when a line is named."""
    path = written(tmp_path, "# a comment", "", "unit a.c", *lines.split("\n"))
    number = 4 + len(lines.split("\n"))
    told = f"decisions {path}:{number}: expected a decision, got "
    with pytest.raises(InputError) as error:
        passpilot.optimize(passpilot.Module(CALLS.encode()), "default<O2>", decisions=path)
    assert str(error.value).startswith(f'{told}"{lines.split()[0]}')
    with pytest.raises(InputError, match=re.escape(told)):
        read_decisions(path)


def test_a_wrong_mode_of_unwind_tables(tmp_path: Path) -> None:
    path = written(tmp_path, "unit a.c", "option unwind=faults", "option unwind=falts")
    modes = "full, faults, shared, linked, calls, exceptions or none"
    told = f'decisions {path}:4: expected unwind={modes}, got "unwind=falts"'
    with pytest.raises(InputError, match=re.escape(told)):
        passpilot.optimize(passpilot.Module(CALLS.encode()), "default<O2>", decisions=path)


def test_a_long_line_is_cut_in_the_error(tmp_path: Path) -> None:
    path = written(tmp_path, "unit a.c", "x" * 100)
    with pytest.raises(InputError) as error:
        passpilot.optimize(passpilot.Module(CALLS.encode()), "default<O2>", decisions=path)
    assert f'got "{"x" * 80}"; make' in str(error.value)


RIGHT = (
    "searched 1f0a63b2 90cc27de\nsearched 1",
    "inline 1 yes f%20g%25 %66 0",
    "function f minsize nooutline unroll=64 vectorize=8\nfunction * unroll=1\nfunction g optsize",
    "option disable-lsr\noption disable-lsr",
)


@pytest.mark.parametrize("lines", RIGHT)
def test_a_right_line_is_taken_by_both_readers(lines: str, tmp_path: Path) -> None:
    path = written(tmp_path, "unit a.c", *lines.split("\n"), "", "# an end", "unit src/calls.c")
    assert [unit.name for unit in read_decisions(path)] == ["a.c", "src/calls.c"]
    passpilot.optimize(passpilot.Module(CALLS.encode()), "default<O2>", decisions=path)


def test_the_size_levels_of_functions(tmp_path: Path) -> None:
    path = written(tmp_path, "unit calls.c", "function two minsize", "function leaf speed")
    text = CALLS.replace("@two(i32 %x) {", "@two(i32 %x) optsize {")
    module = passpilot.Module(text.encode())
    passpilot.optimize(module, "default<O2>", decisions=path)
    [attributes] = re.findall(r"^attributes #0 = \{ (.*) \}$", str(module), re.MULTILINE)
    assert "minsize" in attributes


@pytest.mark.parametrize(("order", "left"), [((0, 1, 2), 1), ((2, 1, 0), 1), ((1, 2), 0), ((2, 1), 0)])
def test_the_name_itself_wins_over_the_end_of_a_path(
    order: tuple[int, ...], left: int, tmp_path: Path
) -> None:
    units = ("src/calls.c", "me/src/calls.c", "you/src/calls.c")
    lines = {
        0: [f"unit {units[0]}", "inline 1 no two leaf", "inline 2 yes two leaf"],
        1: [f"unit {units[1]}", "inline 1 no two leaf", "inline 2 no two leaf"],
        2: [f"unit {units[2]}", "inline 1 no two leaf", "inline 2 no two leaf"],
    }
    path = written(tmp_path, *(line for each in order for line in lines[each]))
    module = passpilot.Module(CALLS.encode())
    with nullcontext() if left else pytest.warns(PasspilotWarning, match="decisions for src/calls.c, got"):
        passpilot.optimize(module, "default<O2>", decisions=path)
    assert calls_left(str(module)) == left


@pytest.mark.parametrize("order", [("calls.c", "b/calls.c", "me/src/calls.c"), ("me/src/calls.c", "calls.c")])
def test_the_path_that_ends_most_alike_is_the_units(order: tuple[str, ...], tmp_path: Path) -> None:
    """Also behind two that are alike to the same degree."""
    path = written(
        tmp_path,
        *(f"unit {unit}\ninline 1 {'no' if unit.startswith('me') else 'yes'} two leaf" for unit in order),
    )
    module = passpilot.Module(CALLS.encode())
    passpilot.optimize(module, "default<O2>", decisions=path)
    assert calls_left(str(module)) == 1


def test_each_compilation_counts_its_questions_anew(tmp_path: Path) -> None:
    path = written(tmp_path, "unit src/calls.c", "inline 2 no two leaf")
    with InlineAdvisor(f"decisions:{path}") as advisor:
        for _ in range(3):
            module = passpilot.Module(CALLS.encode())
            passpilot.optimize(module, "default<O2>", [advisor])
            assert calls_left(str(module)) == 1


def test_what_no_longer_matches_without_sizes(tmp_path: Path) -> None:
    path = written(tmp_path, "unit src/calls.c", "inline 2 no two leaf", "inline 3 no two leaf")
    with pytest.warns(PasspilotWarning) as caught:
        passpilot.optimize(passpilot.Module(CALLS.encode()), "default<O2>", decisions=path)
    [told] = [str(each.message) for each in caught]
    assert "decisions for src/calls.c: 1 of 2 no longer match a call; repair the file" in told


def test_a_function_that_the_module_does_not_have_is_told(tmp_path: Path) -> None:
    (tmp_path / "main.c").write_text(
        "static int leaf(int x) { return x; }\nint main(void) { return leaf(0); }\n"
    )
    path = written(
        tmp_path, "unit main.c", "function maim optsize", "function leaf minsize", "function * speed"
    )
    done = command("cc", "-O2", "-c", "main.c", f"--decisions={path}", cwd=tmp_path)
    told = (
        "warning: decisions for main.c: 1 of 2 for functions no longer match one, first that for maim; repair"
    )
    assert (done.code, done.err.count(told)) == (0, 1), done.err
