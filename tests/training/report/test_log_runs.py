# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs of a report: which logs are one, and which columns of decisions come of their tensors."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from passpilot.features.spec import TensorSpec
from passpilot.plugin.errors import InputError
from passpilot.training.report.inputs import Report
from passpilot.training.report.logs import PageColumn
from tests.training.report.samples import write_log
from tests.training.report.test_report import MANY, column, reported

KINDS: Final = {"int64": "q", "float32": "f"}

Decision = tuple[Mapping[str, str], Sequence[float]]
"""The texts of a decision, and all numbers of its tensors."""


def logged(
    path: Path,
    specs: Sequence[TensorSpec],
    contexts: Mapping[str, Iterable[Decision]],
    score: TensorSpec | None = None,
) -> Path:
    """A log of any point; with a score, its number is the last one of a decision."""
    head: dict[str, object] = {"features": [spec.to_json() for spec in specs]}
    head |= {"score": score.to_json()} if score else {}
    kinds = "<" + "".join(KINDS[spec.dtype] * spec.size for spec in specs)
    with path.open("wb") as file:
        file.write(json.dumps(head).encode() + b"\n")
        for context, decisions in contexts.items():
            file.write(json.dumps({"context": context}).encode() + b"\n")
            for number, (texts, values) in enumerate(decisions):
                file.write(json.dumps({"observation": number, **texts}).encode() + b"\n")
                own = values[: len(values) - bool(score)]
                file.write(struct.pack(kinds, *own) + b"\n")
                if score:
                    file.write(json.dumps({"outcome": number}).encode() + b"\n")
                    file.write(struct.pack(f"<{KINDS[score.dtype]}", values[-1]) + b"\n")
    return path


def spec(name: str, dtype: str = "int64", *shape: int) -> TensorSpec:
    """A tensor."""
    return TensorSpec(name, dtype, shape or (1,))


def of_inliner(path: Path, *contexts: str) -> Path:
    """A log of the inliner with a decision in each module."""
    specs = (spec("inlining_default"), spec("inlining_decision"))
    return logged(path, specs, {each: [({"caller": "f", "callee": "g"}, (0, 1))] for each in contexts})


def keys(run: Any) -> list[str]:
    """The columns of a run."""
    return [each["key"] for each in run["columns"]]


def words(data: Any, run: Any, key: str) -> list[str]:
    """The texts in a column."""
    return [data["strings"][each] for each in column(run, key)]


def test_tensors_become_columns_by_their_size(tmp_path: Path) -> None:
    specs = (
        spec("one"), spec("few", "int64", 4), spec("many", "float32", 5), spec("choices", "int64", 3),
        spec("mask", "int64", 3), spec("pick"),
    )  # fmt: skip
    rows = [
        (7, *(1, 2, 3, 4), *(1, 2, 3, 4, 10), *(30, 40, 50), *(1, 1, 1), 2),
        (8, *(5, 6, 7, 8), *(0, 0, 0, 0, 1), *(60, 70, 80), *(1, 1, 1), 0),
        (9, *(0, 0, 0, 0), *(0, 0, 0, 0, 0), *(61, 71, 81), *(1, 1, 1), 9),
        (9, *(0, 0, 0, 0), *(0, 0, 0, 0, 0), *(62, 72, 82), *(1, 1, 1), -1),
    ]
    (run,) = reported(logged(tmp_path / "a.log", specs, {"m": [({}, row) for row in rows]}))["runs"]
    assert (run["point"], run["whose"], run["idle"], run["done"]) == ("pick", "the pass", "", "")
    assert keys(run)[2:] == [
        "one",
        "few[0]",
        "few[1]",
        "few[2]",
        "few[3]",
        "many@mean",
        "choices@advice",
        "mask@advice",
    ]
    assert column(run, "one") == [7, 8, 9, 9]
    assert column(run, "few[3]") == [4, 8, 0, 0]
    assert column(run, "many@mean") == [4, 0.2, 0, 0]
    assert column(run, "choices@advice") == [50, 60, 81, 62], "the nearest column of a wrong choice"
    docs = {each["key"]: each.get("doc") for each in run["columns"]}
    assert (docs["one"], docs["many@mean"]) == (None, "mean of: ")
    assert all(each["feature"] for each in run["columns"][2:])
    assert not any(each["feature"] for each in run["columns"][:2])
    (tally,) = run["tallies"]
    assert (tally["done"], tally["unlike"]) == (0, 0), "nothing is done or unlike where no default is known"


def test_advice_of_numbers_and_rewards_are_numbers(tmp_path: Path) -> None:
    specs = (spec("cost", "float32"), spec("own_default", "float32"), spec("own", "float32"))
    rows: list[Decision] = [({}, (1.2345678, 1, 2, 5)), ({}, (float("nan"), 3, 3, float("inf")))]
    log = logged(tmp_path / "a.log", specs, {"m": rows}, spec("reward", "float32"))
    (run,) = reported(log)["runs"]
    assert column(run, "cost") == [1.23457, None], "six digits; None where there is no number"
    assert column(run, "score") == [5, None]
    kinds = {each["key"]: (each["kind"], each["feature"]) for each in run["columns"]}
    assert kinds["advice"] == kinds["default"] == kinds["score"] == ("number", False)
    assert kinds["cost"] == ("number", True)
    assert (column(run, "default"), column(run, "advice")) == ([1, 3], [2, 3])
    assert run["tallies"][0]["unlike"] == 1


def test_advice_of_a_point_without_words_is_its_number(tmp_path: Path) -> None:
    specs = (spec("own_default"), spec("own"))
    data = reported(logged(tmp_path / "a.log", specs, {"m": [({}, (2, -3)), ({}, (4, 4))]}))
    (run,) = data["runs"]
    assert words(data, run, "default") == ["2", "4"]
    assert words(data, run, "advice") == ["-3", "4"]


def test_evictions_are_told_by_the_names_of_registers(tmp_path: Path) -> None:
    specs = (spec("evict_default"), spec("index_to_evict"))
    texts = {"register": "%7", "registers": "eax ecx"}
    rows: list[Decision] = [(texts, (32, 0)), (texts, (1, 1)), (texts, (2, 32))]
    data = reported(logged(tmp_path / "a.log", specs, {"main": rows, "other": rows[:1]}))
    (run,) = data["runs"]
    assert words(data, run, "advice") == ["eax", "ecx", "keep", "eax"]
    assert words(data, run, "default") == ["keep", "ecx", "2", "keep"]
    assert words(data, run, "register") == ["%7"] * 4
    assert words(data, run, "context") == ["main", "main", "main", "other"]
    (tally,) = run["tallies"]
    assert tally == {"name": "", "total": 4, "done": 3, "unlike": 3}
    assert "location" not in keys(run)


def test_the_default_of_a_pass_is_not_llvms(tmp_path: Path) -> None:
    specs = (spec("cost"), spec("size_default"), spec("inlining_decision"))
    (run,) = reported(logged(tmp_path / "a.log", specs, {"m": [({}, (1, 0, 1))]}))["runs"]
    assert run["whose"] == "the pass"
    assert run["tallies"] == [{"name": "m", "total": 1, "done": 1, "unlike": 1}]


def test_texts_that_nothing_has_are_no_columns(tmp_path: Path) -> None:
    (run,) = reported(of_inliner(tmp_path / "a.log", "m"))["runs"]
    assert keys(run) == ["context", "caller", "callee", "default", "advice"]
    data = reported(of_inliner(tmp_path / "a.log", "m"), of_inliner(tmp_path / "b.log", "n"))
    (both,) = data["runs"]
    assert (both["name"], words(data, both, "log")) == ("a.log", ["a.log", "b.log"])


def test_a_limit_is_that_of_a_run_not_of_a_log(tmp_path: Path) -> None:
    logs = [of_inliner(tmp_path / f"{name}.log", *(f"{name}{at}" for at in range(3))) for name in "abc"]
    data = reported(*logs, limit=4)
    (run,) = data["runs"]
    assert (run["total"], run["size"]) == (9, 4)
    assert words(data, run, "context") == ["a0", "a1", "a2", "b0"]
    assert [tally["total"] for tally in run["tallies"]] == [1] * 9


@pytest.mark.parametrize(
    ("contexts", "runs"),
    [(("a", "b", "x", "y"), 2), (("a", "x", "y", "z"), 1), (("a",), 2), ((), 2)],
    ids=["half is known", "a quarter is known", "all is known", "nothing in it"],
)
def test_a_log_is_of_other_modules_if_less_than_half_is_known(
    contexts: tuple[str, ...], runs: int, tmp_path: Path
) -> None:
    first = of_inliner(tmp_path / "a.log", *"abcd")
    assert len(reported(first, of_inliner(tmp_path / "b.log", *contexts))["runs"]) == runs


@pytest.mark.parametrize("known", ["a", "b"])
def test_modules_of_all_logs_of_a_run_are_known(known: str, tmp_path: Path) -> None:
    logs = [of_inliner(tmp_path / f"{name}.log", name) for name in "ab"]
    again = of_inliner(tmp_path / "c.log", known)
    assert [run["total"] for run in reported(*logs, again)["runs"]] == [2, 1]


def test_a_folder_is_read_in_order_and_in_depth(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    (folder / "in").mkdir(parents=True)
    of_inliner(folder / "b.log", "m")
    of_inliner(folder / "in" / "a.log", "m")
    of_inliner(folder / "a.log", "m")
    logged(folder / "c.log", (spec("other"),), {"m": [({}, (1,))]})
    (folder / "notes.txt").write_text("no log")
    data = reported(folder, limit=2)
    first, second = data["runs"]
    assert [tally["name"] for tally in first["tallies"]] == ["a.log · m", "b.log · m", "in/a.log · m"]
    assert words(data, first, "log") == ["a.log", "b.log"], "the limit is that of the whole folder"
    assert (first["name"], second["name"], second["point"]) == ("logs", "logs", "other")


def test_logs_of_a_folder_with_other_shapes_are_other_runs(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    for name, size in (("a", 1), ("b", 2), ("c", 1)):
        rows: list[Decision] = [({}, (*range(size), 1))]
        logged(folder / f"{name}.log", (spec("x", "int64", size), spec("pick")), {"m": rows})
    assert [run["total"] for run in reported(folder)["runs"]] == [2, 1]


def test_bytes_that_are_no_utf8_are_shown(tmp_path: Path) -> None:
    log = write_log(tmp_path / "a.log", 2)
    log.write_bytes(log.read_bytes().replace(b"src/module0.c", b"src/\xffodd.c"))
    assert "src/\\xffodd.c" in reported(log)["strings"]


def test_equal_values_of_a_column_are_written_once() -> None:
    same, one = PageColumn("k", "number", values=[3, 3]), PageColumn("k", "text", "doc", values=[3])
    other = PageColumn("k", "number", feature=True, values=[3, 4])
    assert same.to_json() == {"key": "k", "kind": "number", "feature": False, "values": 3, "size": 2}
    assert one.to_json() == {"key": "k", "kind": "text", "doc": "doc", "feature": False, "values": [3]}
    assert other.to_json()["values"] == [3, 4]


def test_a_pipe_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="expected a decision log"):
        Report(MANY).add(str(tmp_path / "pipe"))
