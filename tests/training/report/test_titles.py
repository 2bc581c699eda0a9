# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a page is called, and what it says it is from."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Final

import pytest

from passpilot.passes.emit import emit
from passpilot.plugin.errors import InputError
from passpilot.plugin.module import Module
from passpilot.training.report.inputs import Report
from tests.training.report.samples import evaluation, search, write_log
from tests.training.report.test_report import MANY, data_of

COST: Final = {"functions": [{"name": "f", "default": {"cost": 2}, "advised": {"cost": 1}}]}


def written(path: Path, value: object) -> Path:
    """A result in a file."""
    path.write_text(json.dumps(value))
    return path


def title_of(report: Report) -> str:
    """The title of a page."""
    found = re.search(r"<title>(.*)</title>", report.to_html().decode())
    assert found
    return found[1]


def report_of(*files: Path) -> Report:
    """A report about files."""
    report = Report(MANY)
    for file in files:
        report.add(str(file))
    return report


def test_a_page_is_called_by_what_matters_most_in_it(tmp_path: Path) -> None:
    cost = written(tmp_path / "cost.json", COST)
    log = write_log(tmp_path / "a.log", 3)
    tuned = written(tmp_path / "tuned.json", search(3))
    compared = written(tmp_path / "eval.json", evaluation(1))
    assert title_of(report_of(cost)) == "Register allocation: cost.json"
    assert title_of(report_of(cost, log)) == "Decisions: cost.json and a.log"
    assert title_of(report_of(cost, log, tuned)) == "Search: cost.json and 2 more"
    assert title_of(report_of(cost, log, tuned, compared)) == "Evaluation: cost.json and 3 more"


def test_a_page_of_objects_is_called_by_both(tmp_path: Path) -> None:
    code = b"define i32 @f(i32 %x) {\n  ret i32 %x\n}\ndefine i32 @NEW() {\n  ret i32 7\n}\n"
    for name in ("old", "new"):
        module = Module(code.replace(b"NEW", name.encode()))
        (tmp_path / f"{name}.o").write_bytes(emit(module, "obj"))
    report = report_of(written(tmp_path / "cost.json", COST))
    report.add_objects(str(tmp_path / "old.o"), str(tmp_path / "new.o"))
    assert title_of(report) == "Sizes: cost.json and 2 more"
    (sizes,) = data_of(report.to_html())["sizes"]
    assert (sizes["name"], sizes["labels"]) == ("new.o", ["old.o", "new.o"])
    assert sizes["names"] == ["f", "old", "new"]
    before, after = sizes["functions"]["before"], sizes["functions"]["after"]
    assert before[0] == after[0] > 0
    assert (before[2], after[1]) == (0, 0)
    assert min(before[1], after[2]) > 0
    with pytest.raises(InputError, match=r"none\.o: expected an object or program, got: No such file"):
        report.add_objects(str(tmp_path / "old.o"), str(tmp_path / "none.o"))


def test_a_decision_file_makes_a_search(tmp_path: Path) -> None:
    (tmp_path / "a.decisions").write_text("passpilot decisions 1\nunit a.c\ninline 1 yes f g\n")
    assert title_of(report_of(tmp_path / "a.decisions")) == "Search: a.decisions"


def test_results_without_files_have_no_name() -> None:
    report = Report(MANY)
    report.add_result("r", evaluation(1))
    assert title_of(report) == "Report"
    assert report.to_json()["about"] == ""
    assert "<title>My own</title>" in report.to_html("My own").decode()


@pytest.mark.parametrize(
    ("count", "about"),
    [(1, "From 0.log."), (6, "From 0.log, 1.log, 2.log, 3.log, 4.log, 5.log."),
     (8, "From 0.log, 1.log, 2.log, 3.log, 4.log, 5.log and 2 more.")],
)  # fmt: skip
def test_six_files_are_named(count: int, about: str, tmp_path: Path) -> None:
    files = [write_log(tmp_path / f"{number}.log", 1) for number in range(count)]
    assert report_of(*files).to_json()["about"] == about


def test_a_folder_is_called_by_its_name_however_it_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "logs").mkdir()
    write_log(tmp_path / "logs" / "a.log", 2)
    monkeypatch.chdir(tmp_path / "logs")
    assert report_of(Path()).to_json()["about"] == "From logs."
