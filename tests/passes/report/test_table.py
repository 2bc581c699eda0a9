# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table of an allocation report: its order, and its numbers."""

from __future__ import annotations

from passpilot.passes.report.table import table_of


def row(name: str, *costs: float, cycles: tuple[float | None, ...] = ()) -> dict[str, object]:
    sides = [{"cost": cost, "counts": {}} for cost in costs]
    for side, value in zip(sides, cycles, strict=False):
        side["cycles"] = value
    return {"name": name, "advised": sides[0], "default": sides[1]}


def lines_of(*rows: dict[str, object], limit: int | None = None) -> list[list[str]]:
    """The words of each line that is about a function, or the total."""
    report = {"module": "in.bc", "triple": "x86_64", "total": {}, "functions": list(rows)}
    lines = table_of(report, limit).splitlines()[2:-2]
    return [line.split() for line in lines if not line.startswith("--")]


def test_what_changes_most_comes_first_for_better_or_worse() -> None:
    rows = row("worse", 12, 10), row("better", 10, 20), row("same", 30, 30)
    assert [line[0] for line in lines_of(*rows)] == ["better", "worse", "same", "total"]
    better, more, total = lines_of(*rows, limit=1)
    assert (better[0], more) == ("better", ["...", "2", "more"])
    assert total[:5] == ["total", "52", "60", "13.3%", "smaller"], "of all functions"
    assert [line[0] for line in lines_of(*rows, limit=3)] == ["better", "worse", "same", "total"]


def test_names_are_for_a_terminal() -> None:
    assert lines_of(row("f\x1b[1m", 1, 1))[0][0] == r"f\x1b[1m"


def test_large_numbers_have_no_fraction() -> None:
    (line, _) = lines_of(row("f", 999.96, 1234.56))
    assert line[1:3] == ["1000", "1235"]
    assert lines_of(row("f", 0.123456, 1))[0][1] == "0.1235"


def test_cycles_that_are_not_known() -> None:
    unknown = row("b", 2, 1, cycles=(None, None))
    rows = row("a", 3, 1, cycles=(5.0, 8.0)), unknown, row("c", 1, 1)
    ends = [line[-2:] for line in lines_of(*rows)]
    assert ends == [["5", "8"], ["-", "-"], ["-", "-"], ["5", "8"]]
    assert lines_of(unknown)[-1][-2:] == ["-", "-"]


def test_folded_spills_and_reloads_are_counted() -> None:
    counted = row("f", 1, 1)
    kinds = {"spills": 1, "folded_spills": 10, "folded_both": 100, "reloads": 2, "folded_reloads": 20}
    counted["advised"] = {"cost": 1, "counts": kinds | {"copies": 7, "rematerializations": 1000}}
    (line, total) = lines_of(counted)
    assert line[-6:] == total[-6:] == ["111", "(0)", "122", "(0)", "7", "(0)"]


def test_the_change_has_a_word_and_one_digit() -> None:
    rows = row("less", 1, 3), row("none", 1, 0), row("more", 4, 3)
    changes = [line[3:5] for line in lines_of(*rows)]
    assert changes == [["66.7%", "smaller"], ["-", "0"], ["33.3%", "larger"], ["the", "same"]]


def test_functions_that_change_as_much_keep_their_order() -> None:
    rows = row("b", 2, 1), row("a", 1, 2), row("c", 5, 4)
    assert [line[0] for line in lines_of(*rows)] == ["b", "a", "c", "total"]


def test_a_thousand_is_where_digits_end() -> None:
    assert lines_of(row("f", 999.94, 1000.4))[0][1:3] == ["999.9", "1000"]
    assert lines_of(row("f", -1234.56, 1))[0][1] == "-1235"


def test_no_function_at_all() -> None:
    assert [line[:4] for line in lines_of()] == [["total", "0", "0", "-"]]


def test_a_limit_of_none_leaves_the_total() -> None:
    assert [line[0] for line in lines_of(row("f", 1, 2), row("g", 1, 2), limit=0)] == ["...", "total"]


def test_columns_are_as_wide_as_their_widest_cell() -> None:
    report = {"module": "m", "triple": "t", "functions": [row("f", 1, 1), row("a_long_name", 123456, 1)]}
    table = table_of(report).splitlines()[1:-2]
    assert len({len(line) for line in table}) == 1
    assert set(table[-2]) == {"-"}
    assert table[2].startswith("f            ")
    assert table[1].startswith("a_long_name  123456  ")


def test_the_counts_of_all_functions_are_added() -> None:
    first, second = row("f", 1, 1), row("g", 1, 1)
    first["default"] = {"cost": 1, "counts": {"spills": 2, "copies": 1}}
    second["default"] = {"cost": 1, "counts": {"spills": 5, "reloads": 4}}
    assert lines_of(first, second)[-1][-6:] == ["0", "(7)", "0", "(4)", "0", "(1)"]


def test_cycles_of_the_total_are_of_the_functions_that_have_them() -> None:
    rows = row("a", 1, 1, cycles=(5.0, 8.0)), row("b", 1, 1, cycles=(2.5, None)), row("c", 1, 1)
    assert lines_of(*rows)[-1][-2:] == ["7.5", "8"]
    zero = row("a", 1, 1, cycles=(0.0, 0.0))
    assert lines_of(zero)[-1][-2:] == ["0", "0"]
