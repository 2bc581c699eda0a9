# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the runner of projects of others reads from their tests, and the results that are kept."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.outside import outside_projects
from tests.outside.__main__ import RESULTS, problem
from tests.outside.outside_projects import STOCK, counted, projects, ran

AUTOMAKE = """\
PASS: timestamp
============================================================================
Testsuite summary for gzip 1.12
============================================================================
# TOTAL: 26
# PASS:  25
# SKIP:  1
# FAIL:  0
# ERROR: 0
============================================================================
"""
CTEST = """\
18/19 Test #18: old_utils_tests ..................   Passed    0.00 sec
19/19 Test #19: misc_utils_tests .................***Failed    0.01 sec

95% tests passed, 1 tests failed out of 19

Total Test time (real) =   0.07 sec
"""
MESON = """\
3/3 jsonchecker_jsontestrunner OK              0.44s

Ok:                 2
Expected Fail:      0
Fail:               1
Timeout:            0
"""
PYTEST = """\
FAILED tests/test_a.py::test_b - AssertionError: 3 passed
2 failed, 40 passed, 1 warning in 1.02s
Note: not all tests run: -DPYBIND11_TEST_OVERRIDE is in effect
"""


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        (AUTOMAKE, ["TOTAL: 26", "PASS: 25", "SKIP: 1"]),
        (CTEST, ["1 tests failed out of 19"]),
        (MESON, ["Ok: 2", "Fail: 1"]),
        (PYTEST, ["2 failed", "40 passed"]),
        ("Ran 5 tests in 0.1s\n\nOK\n", []),
    ],
    ids=["automake", "ctest", "meson", "pytest", "unittest"],
)
def test_counts(text: str, counts: list[str]) -> None:
    assert counted(text) == counts


def test_after_the_deadline_everything_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outside_projects, "DEADLINE", 2)
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    code, _ = ran(["sh", "-c", "exec 3> pipe; echo started >&3; sleep 1000 & wait"], tmp_path, {})
    assert code == 124
    assert os.read(reader, 100) == b"started\n"
    assert os.read(reader, 100) == b"", "the end, because no process holds the pipe"
    os.close(reader)


@pytest.mark.parametrize(
    ("exit_code", "counts", "expected"),
    [
        (0, "PASS: 25", ""),
        (0, "Ok: 3", ""),
        (0, "0 tests failed out of 19", ""),
        (0, "", ""),
        (1, "2 failed, 3 passed", ""),
        (1, "2 failed", "expected tests that pass"),
        (5, "3 skipped", "expected tests that pass"),
        (8, "1 tests failed out of 19", "expected tests that pass"),
    ],
)
def test_some_tests_must_pass_with_clang(exit_code: int, counts: str, expected: str) -> None:
    stock = {"code": 10, "exit": exit_code, "counts": counts}
    row = {"builds": {STOCK: stock, "random": {**stock, "code": 20}, "@oz": {**stock, "code": 9}}}
    assert problem(row).startswith(expected)
    assert bool(problem(row)) == bool(expected)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"counts": "2 passed"}, "random: expected 3 passed, got exit code 0, 2 passed"),
        ({"code": 10}, "random: "),
    ],
)
def test_ours_must_end_as_with_clang_and_have_other_code(change: dict[str, object], expected: str) -> None:
    stock = {"code": 10, "exit": 0, "counts": "3 passed"}
    row = {"builds": {STOCK: stock, "random": {**stock, "code": 20, **change}}}
    assert problem(row).startswith(expected)


def test_the_results_are_those_of_the_projects() -> None:
    rows = json.loads(RESULTS.read_text())
    assert {name: row["version"] for name, row in rows.items()} == {
        name: project.origin.version for name, project in projects().items()
    }
    assert {name: problem(row) for name, row in rows.items()} == dict.fromkeys(rows, "")
    assert sum(row["language"] == "c++" for row in rows.values()) >= 6
    ways = {way for row in rows.values() for way in row["known"].split(", ")}
    assert {"LTO", "CMake presets", "meson"} <= ways
