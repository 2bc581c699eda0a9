# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `passpilot compare` writes about results, with figures that small programs do not have."""

from __future__ import annotations

import json
import re
from typing import Final

import pytest

from passpilot.cli.comparison_text import Comparison, csv_text, json_text, table_text
from passpilot.training.comparison import Compared, Measured

NONE: Final = Measured(0, 0, 0, 0, 0, 0, 0, None, {})
LLVM: Final = Measured(20_000, 9_000, 30_000, 8_000, 3_000, 2_000, 2_000, 0.25, {"inline": "l.log"})
OTHER: Final = Measured(15_000, 8_000, 29_000, 7_000, 4_000, 1_500, 500, 1.5, {"inline": "o.log"})
X86: Final = "x86_64-pc-linux-gnu"


def comparison(*modules: Compared, logged: bool = False, llvm: tuple[str, ...] = ()) -> Comparison:
    return Comparison("default<Oz>", llvm, ["LLVM", "--inline=\x1b"], modules, logged)


def rows_of(made: Comparison) -> list[list[str]]:
    """The cells of the table below the headings."""
    text = table_text(made)
    assert text.endswith("\n")
    assert all(line == line.rstrip() for line in text.splitlines())
    return [re.split(r"  +", line.strip()) for line in text.partition("\n\n")[2].splitlines()[1:]]


def test_figures_have_signs_and_thousands() -> None:
    rows = rows_of(comparison(Compared("a.bc", X86, (LLVM, OTHER))))
    assert rows[:2] == [
        ["a.bc", "LLVM", "20,000", "9,000", "30,000", "8,000", "3,000", "2,000", "100.0%", "0.250"],
        ["1", "15,000", "25.00% smaller", "8,000", "29,000", "7,000", "4,000", "1,500", "33.3%", "1.500"],
    ]
    worse = rows_of(comparison(Compared("a.bc", X86, (OTHER, LLVM))))
    assert worse[1][2] == "33.33% larger"


@pytest.mark.parametrize("name", ["a.bc", "a-long-name.bc"])
def test_names_are_aligned_to_the_left_and_figures_to_the_right(name: str) -> None:
    made = comparison(Compared(name, X86, (LLVM, OTHER)))
    heads, first, second, *_ = table_text(made).partition("\n\n")[2].splitlines()
    who = heads.index("who")
    assert (first.index("LLVM"), second.index("1 ")) == (who, who)
    for head, *cells in (("allocated", "20,000", "15,000"), ("seconds", "0.250", "1.500")):
        ends = [line.index(cell) + len(cell) for line, cell in zip((first, second), cells, strict=True)]
        assert ends == [heads.index(head) + len(head)] * 2


def test_what_was_not_measured_is_a_dash_and_nothing_has_no_change() -> None:
    rows = rows_of(comparison(Compared("a.bc", X86, (NONE, OTHER))))
    assert rows[0] == ["a.bc", "LLVM", *["0"] * 6, "-", "-"]
    assert rows[1] == ["1", "15,000", "8,000", "29,000", "7,000", "4,000", "1,500", "33.3%", "1.500"]


def test_the_total_is_of_all_modules_and_compared_as_a_whole() -> None:
    made = comparison(Compared("a.bc", X86, (LLVM, OTHER)), Compared("b.bc", X86, (OTHER, OTHER)))
    assert rows_of(made)[-2:] == [
        ["total", "LLVM", "35,000", "17,000", "59,000", "15,000", "7,000", "3,500", "71.4%", "1.750"],
        ["1", "30,000", "14.29% smaller", "16,000", "58,000", "14,000", "8,000", "3,000", "33.3%", "3.000"],
    ]


@pytest.mark.parametrize(
    ("sources", "names", "where"),
    [
        (["a.bc", "b.bc"], ["a.bc", "b.bc"], ""),
        (["t/x/a.bc", "t/y/a.bc"], ["x/a.bc", "y/a.bc"], ", modules of t"),
        (["t/x\x1b/a.bc", "t/x\x1b/b.bc"], ["a.bc", "b.bc"], r", modules of t/x\x1b"),
    ],
)
def test_modules_are_named_below_their_common_folder(
    sources: list[str], names: list[str], where: str
) -> None:
    made = comparison(*(Compared(source, X86, (LLVM, OTHER)) for source in sources))
    assert [row[0] for row in rows_of(made)[::2]] == [*names, "total"]
    legend = table_text(made).splitlines()[:3]
    assert legend[0].endswith(f" -mcpu=x86-64{where}")
    assert legend[2] == r"1     --inline=\x1b"


def test_every_target_is_named_once() -> None:
    triples = [X86, "aarch64-linux-gnu", X86]
    made = comparison(*(Compared("a.bc", triple, (LLVM, OTHER)) for triple in triples))
    assert [each.split()[0] for each in made.targets] == [f"-mtriple={each}" for each in triples[:2]]


@pytest.mark.parametrize("logged", [False, True])
def test_json_has_the_logs_that_are_kept(logged: bool) -> None:
    made = comparison(Compared("a.bc", X86, (LLVM, OTHER)), logged=logged, llvm=("-mcpu=haswell",))
    whole = json.loads(json_text(made))
    assert (whole["pipeline"], whole["llvm_options"]) == ("default<Oz>", ["-mcpu=haswell"])
    (module,) = whole["modules"]
    assert (module["module"], module["triple"]) == ("a.bc", X86)
    logs = [result.get("logs") for result in module["results"]]
    assert logs == ([{"inline": "l.log"}, {"inline": "o.log"}] if logged else [None, None])
    assert all("logs" not in result for result in whole["total"])
    assert "log" not in csv_text(made), "a table has no place for them"
