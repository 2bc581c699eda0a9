# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The Markdown of an evaluation: every table, its numbers, and what is left out."""

from __future__ import annotations

import pytest

from passpilot.training.evaluation.results import MeanRatio
from passpilot.training.evaluation.tables import (
    WORST,
    decision_text,
    markdown,
    mean_text,
    mean_texts,
    problems,
    regressions,
)
from tests.training.evaluation.results import competitor, evaluation, program

WHOLE = """\
# Evaluation

2 programs of /a\\_corpus, clang &lt;22&gt;. Ratios are geometric means over the programs, with 95 % \
intervals by bootstrap; smaller is better. *allocated* is what the linked program loads, with \
`--gc-sections --icf=safe`; *.text* is its machine code; *stripped* is the file without symbols, *xz* \
that file compressed; *objects* is what its object files load. Times are processor time; a mean whose \
interval is wider than 5 % is not known.

| against Oz | allocated | .text | stripped | xz | objects | compile time | run time | instructions | \
decisions | as LLVM |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
| O2 | 2.000 | - | - | - | 4.000 | 0.500 | 0.250 | - | - | - |
| mine | 0.900 | - | - | - | - | - | - | - | 1,200 | 75.0% |

| against O2 | allocated | .text | stripped | xz |
| --- | ---: | ---: | ---: | ---: |
| mine | 0.450 | - | - | - |

## By program

| program |  | allocated | .text | stripped | xz |
| --- | ---: | ---: | ---: | ---: | ---: |
| one | Oz | 1,000 | - | - | - |
|  | O2 | 2.000 | - | - | - |
|  | mine | 0.900 | - | - | - |
| two | Oz | - | - | - | - |
|  | O2 | - | - | - | - |
|  | mine | - | - | - | - |
"""


def test_all_tables() -> None:
    one = program(
        "one",
        Oz=competitor(1000, 100, 2.0, run=8.0),
        O2=competitor(2000, 400, 1.0, run=2.0),
        mine=competitor(900, decisions=1200, agreed=900),
    )
    two = program("two", Oz=competitor(), O2=competitor(500))
    assert markdown(evaluation(one, two)) == WHOLE
    assert evaluation(one, two)._repr_markdown_() == WHOLE, "what a notebook shows"


def test_one_baseline_and_one_program() -> None:
    made = evaluation(program("one", Oz=competitor(1000), mine=competitor(900)))
    made.baselines = ["Oz"]
    text = markdown(made)
    assert "\n1 program of " in text
    assert "against every baseline" not in text
    assert "## Worst regressions" not in text
    assert "## Problems" not in text


def test_the_worst_regressions_come_first_and_only_of_policies() -> None:
    rows = [
        program(f"p{number:02}", Oz=competitor(100), O2=competitor(900), mine=competitor(99 + number))
        for number in range(WORST + 3)
    ]
    made = evaluation(*rows, program("none", Oz=competitor(100), mine=competitor()))
    found = regressions(made)
    assert [name for _, name, _ in found] == [f"p{number:02}" for number in range(WORST + 2, 1, -1)]
    assert found[0] == (1.11, "p12", "mine")
    _, _, table = markdown(made).partition("## Worst regressions\n\n")
    lines = table.splitlines()
    assert lines[0] == "| program | policy | allocated | .text | stripped | xz |"
    assert lines[2] == "| p12 | mine | 1.110 | - | - | - |"
    assert len(lines) == 2 + WORST


def test_problems_are_errors_and_then_warnings() -> None:
    rows = [
        program(
            "one",
            ("mine: was never asked",),
            Oz=competitor(errors=("a [b] `c`", "d")),
            mine=competitor(errors=("e",)),
        ),
        program("two", Oz=competitor(errors=("f",))),
    ]
    made = evaluation(*rows)
    assert list(problems(made)) == ["one, Oz: a [b] `c`", "one, Oz: d", "one, mine: e", "two, Oz: f"]
    _, _, text = markdown(made).partition("## Problems\n\n")
    assert text.splitlines() == [
        "* one, Oz: a \\[b\\] \\`c\\`",
        "* one, Oz: d",
        "* one, mine: e",
        "* two, Oz: f",
        "* one, mine: was never asked",
    ]


def test_names_cannot_end_a_cell_or_begin_a_tag() -> None:
    name = "a|b*c_d\\e\n<i>&"
    text = markdown(evaluation(program(name, Oz=competitor(10))))
    assert "| a\\|b\\*c\\_d\\\\e &lt;i&gt;&amp; | Oz | 10 | - | - | - |" in text


def test_means_as_text() -> None:
    mean: MeanRatio = {"ratio": 0.94321, "low": 0.9, "high": 0.9666, "programs": 5}
    assert mean_text(None) == "-"
    assert mean_text(mean) == "0.943 (0.900-0.967)"
    assert mean_text(mean, interval=False) == "0.943"
    assert mean_text({**mean, "low": None, "high": None}) == "0.943"
    summary = {metric: {"a": mean} for metric in ("allocated", "compile", "run")}
    assert mean_texts(summary, "a") == [
        "0.943 (0.900-0.967)",
        *["-"] * 4,
        "not known",
        "not known",
        "-",
    ]
    narrow: MeanRatio = {**mean, "low": 0.925}
    assert mean_texts({"run": {"a": narrow}, "compile": {"a": narrow}}, "a")[5:7] == [
        "0.943",
        "0.943 (0.925-0.967)",
    ]
    assert mean_texts(summary, "b") == ["-"] * 8


@pytest.mark.parametrize(
    ("counts", "text"),
    [
        ([], ("-", "-")),
        ([(None, None)], ("-", "-")),
        ([(0, 0)], ("0", "-")),
        ([(1000, 1), (1000, 2), (None, None)], ("2,000", "0.1%")),
    ],
)
def test_decisions_as_text(counts: list[tuple[int | None, int | None]], text: tuple[str, str]) -> None:
    rows = [program("p", mine=competitor(decisions=one, agreed=other)) for one, other in counts]
    assert decision_text([*rows, program("q")], "mine") == text
