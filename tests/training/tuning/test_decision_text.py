# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The text of decision files, as people read and merge it."""

from __future__ import annotations

from pathlib import Path

import pytest

from passpilot.plugin.errors import InputError
from passpilot.training.tuning.decision_file import (
    HEAD,
    CallKey,
    UnitDecisions,
    read_decisions,
    word_kind,
    write_decisions,
)


def test_a_file_is_sorted_and_says_what_decisions_gain(tmp_path: Path) -> None:
    first, second, third = CallKey("a", "b", 2), CallKey("a", "b", 1), CallKey("A\udcff%", "c d", 1)
    hashes = frozenset(f"{number:08x}" for number in range(13))
    unit = UnitDecisions(
        "dir/a b.c",
        {first: True, second: False, third: True},
        "mergefunc",
        ["tail-merge-size=1", "disable-lsr"],
        {"z": ("speed",), "*": ("unroll=2", "nooutline"), "a b": ("minsize",)},
        {first: 12, second: 0},
        hashes,
        ["one", "two"],
        "Oz",
    )
    path = tmp_path / "f.decisions"
    write_decisions(str(path), [UnitDecisions("empty.c"), unit], ["whole", "more"])
    ordered = sorted(hashes)
    assert path.read_text() == "\n".join(
        [
            HEAD, "# whole", "# more", "", "unit empty.c", "", "unit dir/a b.c", "# one", "# two",
            "level Oz", "pipeline mergefunc", "option tail-merge-size=1", "option disable-lsr",
            "function * unroll=2 nooutline",
            "function a%20b minsize", "function z speed", "inline 1 yes A%FF%25 c%20d", "inline 1 no a b",
            "inline 2 yes a b 12", f"searched {' '.join(ordered[:12])}", f"searched {ordered[12]}", "",
        ]
    )  # fmt: skip
    _, again = read_decisions(str(path))
    assert (again.inline, again.gains, again.searched) == (unit.inline, {first: 12}, hashes)
    assert (again.functions, again.options, again.pipeline) == (unit.functions, unit.options, "mergefunc")
    assert again.notes == ()


def read(path: Path, *lines: str) -> list[UnitDecisions]:
    """The units of a file."""
    path.write_text("\n".join((HEAD, *lines)))
    return read_decisions(str(path))


def test_comments_and_empty_lines_are_no_decisions(tmp_path: Path) -> None:
    lines = (
        "# unit no.c",
        "",
        "unit a.c",
        "#inline 1 yes f g",
        "inline 1 yes f g",
        "",
        "unit b.c",
        "inline 9 no f g 7",
    )
    first, second = read(tmp_path / "f", *lines)
    assert (first.name, first.inline) == ("a.c", {CallKey("f", "g", 1): True})
    assert (second.inline, second.gains) == ({CallKey("f", "g", 9): False}, {CallKey("f", "g", 9): 7})


@pytest.mark.parametrize(
    "line",
    [
        "inline 01 yes f g", "inline 1 yes f g x", "inline 1 yes f g 7 8", "inline -1 yes f g",
        "inline 1 YES f g",
        " inline 1 yes f g", "inline 1 yes f g ", "pipeline ", "option a b", "option ",
        "function f nooutline x",
        "function f unroll=0", "function f unroll=64 unroll=2", "function f speed  nooutline",
        "function f optsize minsize",
        "function f nooutline nooutline", "searched ", "unita.c",
    ],
)  # fmt: skip
def test_lines_that_are_no_decisions(line: str, tmp_path: Path) -> None:
    kind = line.partition(" ")[0]
    form = f"write {kind} .*" if kind in ("inline", "function", "pipeline", "option") else ""
    hint = form or "make the file with `passpilot tune`"
    with pytest.raises(InputError, match=rf":4: expected a decision, got .*; {hint}$"):
        read(tmp_path / "f", "unit a.c", "inline 1 yes f g", line)


def test_a_long_line_is_shown_in_part(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path / "f", "x" * 100)
    assert f'got "{"x" * 80}";' in str(caught.value)
    (tmp_path / "g").write_text(f"{HEAD} \n")
    with pytest.raises(InputError, match=rf':1: expected "{HEAD}", got '):
        read_decisions(str(tmp_path / "g"))


def test_the_words_of_functions(tmp_path: Path) -> None:
    words = (
        "minsize unroll=1 nooutline",
        "unroll=59 speed",
        "unroll=64",
        "unroll=60 optsize",
        "nooutline unroll=10",
    )
    (unit,) = read(tmp_path / "f", "unit a.c", *(f"function f{at} {each}" for at, each in enumerate(words)))
    assert [" ".join(each) for each in unit.functions.values()] == list(words)
    kinds = [word_kind(word) for word in ("minsize", "optsize", "speed", "unroll=4", "nooutline")]
    assert kinds == ["size", "size", "size", "unroll", "nooutline"]
