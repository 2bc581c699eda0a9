# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Results of searches, allocation reports and decision files in a page."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import pytest

from passpilot.plugin.errors import InputError
from passpilot.training.ladder.ladder import LadderResult, LadderRow, LadderSizes
from passpilot.training.report.inputs import Report
from passpilot.training.tuning.decision_file import CallKey, UnitDecisions, write_decisions
from tests.training.report.test_report import MANY, column, data_of, reported
from tests.training.report.test_scripts import node

SEARCH: Final = {"curve": [[1, 0.5, 90]], "start": 100, "text": 90}
MANGLED: Final = "_ZN1a1bEv"


def shown(**results: Mapping[str, object]) -> Any:
    """The data of the page about results."""
    report = Report(MANY)
    for name, raw in results.items():
        report.add_result(name, raw)
    return data_of(report.to_html("t"))


def test_units_of_a_search() -> None:
    units = [
        "a.c",
        {"name": "b.c", "start": 9, "text": 0, "calls": True, "pipeline": "", "options": "x y"},
        {},
    ]
    data = shown(r={**SEARCH, "reward": "mca", "units": units})
    (tuned,) = data["tunes"]
    assert (tuned["name"], tuned["reward"], tuned["start"], tuned["text"]) == ("r", "mca", 100, 90)
    assert tuned["units"] == [
        {"name": "a.c"},
        {"name": "b.c", "start": 9, "text": 0, "options": "x y"},
        {"name": ""},
    ]
    assert data["sizes"] == [], "the search does not know functions"
    (plain,) = shown(r=SEARCH)["tunes"]
    assert (plain["reward"], plain["units"], plain["sizes"]) == ("", [], {})
    sizes = {"allocated": [200, 100], "text": [100, 75], "file": [300, 150], "compressed": ["x", 1]}
    brought = {"pipeline": 2, "inline": 34, "unknown": "?"}
    (sized,) = shown(r={**SEARCH, "sizes": sizes, "brought": brought})["tunes"]
    assert [*sized["brought"].items()] == [("inlining decisions", 34), ("pipelines behind the level", 2)]
    assert node(f"allSizes({json.dumps(sized)})") == (
        "r: allocated 50.0 % smaller, .text 25.0 % smaller, stripped 50.0 % smaller, "
        "smaller by inlining decisions 34, by pipelines behind the level 2."
    )


@pytest.mark.parametrize(
    "wrong",
    [
        {"curve": []}, {"curve": 3}, {"curve": [[1, 2, 3], [1, 2]]}, {"curve": [[1, 2, "3"]]},
        {"curve": [[1, True, 3]]}, {"start": 0}, {"start": "100"}, {"text": None}, {"text": True},
    ],
    ids=str,
)  # fmt: skip
def test_a_search_without_numbers_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InputError, match=r"report r: .* got one without its curve and sizes"):
        shown(r={**SEARCH, **wrong})


def test_sizes_of_functions_before_and_after() -> None:
    functions = {"before": {"f": 10.7, MANGLED: 5}, "after": {"new": 3, "f": None}}
    data = shown(r={**SEARCH, "functions": functions})
    (sizes,) = data["sizes"]
    assert sizes["names"] == ["f", MANGLED, "new"]
    assert sizes["functions"] == {"before": [10, 5, 0], "after": [0, 0, 3]}
    assert (sizes["name"], sizes["labels"]) == ("r", ["Before", "After"])
    assert data["demangled"] == {MANGLED: "a::b()"}
    (one,) = shown(r={**SEARCH, "functions": {"after": {"f": 1}}})["sizes"]
    assert one["functions"] == {"before": [0], "after": [1]}


def test_an_allocation_report() -> None:
    rows = [
        {"name": MANGLED, "default": {"cost": 4}, "advised": {"cost": 1.5}},
        {"name": "f", "default": {"cost": 2}, "advised": {"cost": 3}},
    ]
    data = shown(r={"functions": rows}, s={"functions": [], "module": "m.bc"})
    first, second = data["costs"]
    assert (first["name"], first["default"], first["advised"]) == ("r", 6, 4.5)
    assert first["functions"][1] == {"name": "f", "default": 2, "advised": 3}
    assert data["demangled"] == {MANGLED: "a::b()"}
    assert (second["name"], second["default"]) == ("m.bc", 0)


def test_a_result_of_no_known_kind_tells_its_first_keys() -> None:
    with pytest.raises(InputError, match=r"got JSON with a, b, c, d, e, f$"):
        shown(r=dict.fromkeys("abcdefg", 1))


@pytest.mark.parametrize("number", ["1e999", "-1e999", "NaN", "Infinity"])
def test_a_result_has_finite_numbers(number: str, tmp_path: Path) -> None:
    (tmp_path / "r.json").write_text(f'{{"curve": [[1, 0.5, {number}]], "start": 100, "text": 90}}')
    with pytest.raises(InputError, match=r"report .*r\.json: .* got other text"):
        Report(MANY).add(str(tmp_path / "r.json"))


def test_json_without_an_end_of_its_depth_is_another_file(tmp_path: Path) -> None:
    (tmp_path / "deep.json").write_text("[" * 200_000)
    with pytest.raises(InputError, match="got other text"):
        Report(MANY).add(str(tmp_path / "deep.json"))


def test_the_calls_of_all_units_of_a_decision_file(tmp_path: Path) -> None:
    path = tmp_path / "p.decisions"
    first = {CallKey("z", "f", 1): True, CallKey("a", "g", 2): False, CallKey("a", "g", 1): True}
    notes = [".text 50 -> 40 bytes", ".text 60 -> 30 bytes"]
    units = [
        UnitDecisions("a.c", first, notes=notes),
        UnitDecisions("none.c"),
        UnitDecisions("b.c", {CallKey("h", "f", 1): False}, options=["disable-lsr", "tail-merge-size=2"]),
    ]
    write_decisions(str(path), units)
    data = reported(path)
    (run,), (tuned,) = data["runs"], data["tunes"]

    def words(key: str) -> list[str]:
        return [data["strings"][each] for each in column(run, key)]

    assert words("log") == ["a.c", "a.c", "a.c", "b.c"]
    assert words("caller") == ["a", "a", "z", "h"]
    assert words("callee") == ["g", "g", "f", "f"]
    assert column(run, "number") == [1, 2, 1, 1]
    assert words("advice") == ["inline", "no", "inline", "no"]
    assert run["tallies"] == [
        {"name": "a.c", "total": 3, "done": 2, "unlike": 3},
        {"name": "b.c", "total": 1, "done": 0, "unlike": 1},
    ]
    assert (run["total"], run["size"], run["point"], run["whose"]) == (4, 4, "inline", "LLVM")
    assert (run["site"], run["idle"], run["done"]) == ("call", "no", "inlined")
    assert (tuned["start"], tuned["text"], tuned["reward"]) == (0, 0, "")
    assert tuned["units"] == [
        {"name": "a.c", "start": 50, "text": 40, "calls": 3},
        {"name": "none.c", "calls": 0},
        {"name": "b.c", "calls": 1, "options": "disable-lsr tail-merge-size=2"},
    ]


def test_a_decision_file_in_another_order_and_of_names_that_are_no_utf8(tmp_path: Path) -> None:
    path = tmp_path / "p.decisions"
    lines = (b"unit \xff.c", b"inline 2 yes b %FE", b"inline 1 no b %FE", b"inline 1 yes a f")
    path.write_bytes(b"\n".join((b"passpilot decisions 1", *lines)))
    data = reported(path)
    (run,), (tuned,) = data["runs"], data["tunes"]
    assert [data["strings"][each] for each in column(run, "caller")] == ["a", "b", "b"]
    assert column(run, "number") == [1, 1, 2]
    assert [data["strings"][each] for each in column(run, "callee")] == ["f", "\\xfe", "\\xfe"]
    assert tuned["units"][0]["name"] == "\\xff.c"


def test_searches_come_before_decision_files(tmp_path: Path) -> None:
    write_decisions(str(tmp_path / "p.decisions"), [UnitDecisions("a.c")])
    (tmp_path / "p.json").write_text(json.dumps({**SEARCH, "units": ["b.c", "c.c"]}))
    data = reported(tmp_path / "p.decisions", tmp_path / "p.json")
    assert [each["name"] for each in data["tunes"]] == ["p.json", "p.decisions"]
    assert [len(each["units"]) for each in data["tunes"]] == [2, 1]


def test_a_ladder() -> None:
    """The levers as they were measured; a page is drawn of them, and damaged ones are refused."""
    sizes = LadderSizes(100, 60, 120, 50, 1.5)
    row = LadderRow("lto-full", "lto", "-flto=full", "a", "lto", True, "", sizes, sizes, sizes)
    result = LadderResult("p", "clang", "allocated", "lto", sizes, (row,), sizes, "-flto=full")
    raw = asdict(result)
    (ladder,) = shown(r=raw)["ladders"]
    assert ladder == json.loads(json.dumps(raw))
    lower = {**raw, "rows": [{**raw["rows"][0], "on_top": {**asdict(sizes), "allocated": 80}}]}
    rungs = node(f"rungsOf({json.dumps(lower)})")
    assert rungs == [{"name": "lto-full", "before": 1, "after": 0.8, "hue": "var(--bad)"}]
    assert node(f"verdictOf({json.dumps({**asdict(row), 'is_taken': False, 'note': '--allow=lto'})})") == (
        "--allow=lto: a"
    )
    with pytest.raises(InputError, match="report r: rows"):
        shown(r={**raw, "rows": 3})
