# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot log`: what it pairs, how it names what is half known, and names that no terminal may get."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from passpilot.cli.log import main
from passpilot.features.log import reader
from passpilot.features.log.reader import read_log
from passpilot.plugin.errors import LogError, UsageError
from tests.features.log.log_writer import header, inline_log, line, observation, row

Capture = pytest.CaptureFixture[str]

ESCAPE = "\x1b[2J"
PLACE = {"context": "f", "caller": "a", "callee": "b", "location": "x.c:1:2", "register": "%1"}


def shown(path: Path, capsys: Capture, *options: str) -> list[str]:
    """What `log show` prints."""
    assert main(["show", str(path), *options]) == 0
    return capsys.readouterr().out.splitlines()


def log_of(path: Path, *decisions: tuple[int, Mapping[str, str]], default: str = "inlining_default") -> Path:
    """A log of the inliner; a decision is its advice and its texts."""
    rows = [row(default), row("inlining_decision")]
    parts = [header(rows)]
    for number, (advice, texts) in enumerate(decisions):
        rest = dict(texts)
        if (context := rest.pop("context", None)) is not None:
            parts.append(line(context=context))
        parts.append(observation(rows, number, [1, advice], **rest))
    path.write_bytes(b"".join(parts))
    return path


@pytest.mark.parametrize(
    ("texts", "place"),
    [
        ({"caller": "a", "location": "x.c:1:2"}, "a -> ?  x.c:1:2"),
        ({"callee": "b"}, "? -> b"),
        ({"location": "x.c:1:2"}, "x.c:1:2"),
    ],
)
def test_a_call_that_is_half_known(
    texts: dict[str, str], place: str, tmp_path: Path, capsys: Capture
) -> None:
    decision = shown(log_of(tmp_path / "log", (1, texts)), capsys)[1]
    assert decision.split(maxsplit=3)[3] == place


@pytest.mark.parametrize(
    ("rows", "summary"),
    [
        (["inlining_default", "inlining_decision"], "1 as LLVM's default (100.0 %)"),
        (["inlining_decision_default", "inlining_decision"], "1 as the pass's default (100.0 %)"),
        (["unroll_default", "unroll"], "1 as the pass's default (100.0 %)"),
        (["size", "unroll"], "1 decision"),
        (["inlining_decision"], "1 inlined"),
    ],
)
def test_the_summary_says_whose_default_it_is(
    rows: list[str], summary: str, tmp_path: Path, capsys: Capture
) -> None:
    """MLIR's inliner has the advice of LLVM's, but a default of its own."""
    table = [row(name) for name in rows]
    (tmp_path / "log").write_bytes(header(table) + observation(table, 0, [1] * len(rows)))
    assert shown(tmp_path / "log", capsys)[-1].endswith(summary)


def test_advice_that_is_no_register_is_a_number(tmp_path: Path, capsys: Capture) -> None:
    rows = [row("evict_default"), row("index_to_evict")]
    parts = [
        observation(rows, number, [each, each], registers="rax rcx") for number, each in enumerate((-1, 1, 2))
    ]
    (tmp_path / "log").write_bytes(header(rows) + b"".join(parts))
    assert [text.split()[2] for text in shown(tmp_path / "log", capsys)[1:4]] == ["-1", "rcx", "2"]


@pytest.mark.parametrize("name", ["context", "caller", "callee", "location"])
def test_names_in_csv_are_made_harmless(name: str, tmp_path: Path, capsys: Capture) -> None:
    path = log_of(tmp_path / "log", (1, {**PLACE, name: ESCAPE}))
    (made,) = csv.DictReader(io.StringIO("\n".join(shown(path, capsys, "--csv"))))
    assert made[name] == r"\x1b[2J"


def test_names_of_files_and_points_are_made_harmless(tmp_path: Path, capsys: Capture) -> None:
    rows = [row(f"advice{ESCAPE}")]
    path = tmp_path / f"{ESCAPE}.log"
    path.write_bytes(header(rows) + observation(rows, 0, [1]))
    assert main(["show", str(path), str(path)]) == 0
    text = capsys.readouterr().out
    assert r"\x1b[2J.log:" in text
    assert r"all logs of advice\x1b[2J: 2 decisions" in text
    assert main(["show", "--csv", str(path), str(path)]) == 0
    rest = capsys.readouterr().out.partition("\n")[2]
    assert rest.count(r"\x1b[2J.log,") == 2
    assert "\x1b" not in text + rest


def test_logs_of_a_folder_come_by_name(tmp_path: Path, capsys: Capture) -> None:
    for name in ("b", "d", "a", "c", "e"):
        (tmp_path / f"{name}.log").write_bytes(inline_log([]))
    heads = [each for each in shown(tmp_path, capsys) if each.startswith("log ")]
    assert heads == [f"log {tmp_path}/{name}.log:" for name in "abcde"]


def test_json_and_csv_at_once_are_refused(tmp_path: Path) -> None:
    path = log_of(tmp_path / "log", (1, PLACE))
    with pytest.raises(UsageError, match="log show: choose --json or --csv; see"):
        main(["show", "--json", "--csv", str(path)])


def test_csv_of_three_logs_has_one_head(tmp_path: Path, capsys: Capture) -> None:
    path = log_of(tmp_path / "log", (1, PLACE))
    assert main(["show", "--csv", *[str(path)] * 3]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [each.startswith("log,context,") for each in lines] == [True, False, False, False]


def diff(first: Path, second: Path, capsys: Capture, *options: str) -> list[str]:
    """What `log diff` prints below the heading."""
    assert main(["diff", str(first), str(second), *options]) == 0
    return capsys.readouterr().out.splitlines()[1:]


@pytest.mark.parametrize("name", PLACE)
def test_decisions_at_two_places_are_no_pair(name: str, tmp_path: Path, capsys: Capture) -> None:
    first = log_of(tmp_path / "a", (1, PLACE))
    assert diff(first, log_of(tmp_path / "b", (0, PLACE)), capsys)[-1].startswith("1 in both, 1 different")
    other = log_of(tmp_path / "c", (0, {**PLACE, name: "another"}))
    assert diff(first, other, capsys) == ["0 in both, 0 different, 1 only in the first, 1 only in the second"]


def test_a_limit_of_differences_counts_them_all(tmp_path: Path, capsys: Capture) -> None:
    places = [{**PLACE, "callee": name} for name in "xyz"]
    first = log_of(tmp_path / "a", *((1, place) for place in places))
    second = log_of(tmp_path / "b", *((0, place) for place in places))
    assert [each.split()[-2] for each in diff(first, second, capsys)[:-1]] == ["x", "y", "z"]
    limited = diff(first, second, capsys, "--limit=2")
    assert [each.split()[-2] for each in limited[:-1]] == ["x", "y"]
    assert limited[-1].startswith("3 in both, 3 different (100.0 %)")


def test_names_in_a_difference_are_made_harmless(tmp_path: Path, capsys: Capture) -> None:
    place = {**PLACE, "callee": ESCAPE}
    first, second = log_of(tmp_path / "a", (1, place)), log_of(tmp_path / "b", (0, place))
    text = diff(first, second, capsys)[0]
    assert r"a -> \x1b[2J" in text


def test_names_that_are_asked_for_twice_are_read_once(tmp_path: Path) -> None:
    reader = read_log(log_of(tmp_path / "log", (1, PLACE)))
    arrays = reader.to_arrays(["caller", "inlining_decision", "caller"])
    assert {name: array.tolist() for name, array in arrays.items()} == {
        "caller": ["a"],
        "inlining_decision": [[1]],
    }
    assert [[*batch] for batch in reader.batches(iter(["caller", "caller"]))] == [["caller"]]


@pytest.mark.parametrize(("missing", "expected"), [(0, "a whole line"), (1, "more of the log")])
def test_a_line_that_does_not_end(
    missing: int, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line is read up to a limit; a shorter one without its end is the end of a log that was cut."""
    assert reader._LONGEST_LINE == 1 << 24
    head = header([row("x")])
    limit = len(head) + 8
    monkeypatch.setattr(reader, "_LONGEST_LINE", limit)
    endless = b'{"context":"' + b"x" * limit
    (tmp_path / "log").write_bytes(head + endless[: limit - missing])
    with pytest.raises(LogError, match=f"expected {expected}, got"):
        list(read_log(tmp_path / "log"))


def test_headers_that_are_no_list_are_shown_shortened(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b'{"features":"' + b"x" * 1000 + b'"}\n')
    with pytest.raises(LogError, match="header: expected a list of features, got 'x") as caught:
        read_log(tmp_path / "log")
    assert len(str(caught.value)) - len(str(tmp_path)) < 200


def test_json_names_the_log_only_among_several(tmp_path: Path, capsys: Capture) -> None:
    path = log_of(tmp_path / "log", (1, PLACE))
    (one,) = shown(path, capsys, "--json")
    assert "log" not in json.loads(one)
