# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The sweep of default advice compiles and compares, goes on where it ended, and fails for what is wrong."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.sweeps.ledger import numbers, ranges
from bench.sweeps.parts import part
from tests.corpus.programs import all_programs

ROOT = Path(__file__).parents[2]


def soak(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    files = (f"--file={folder / 'cases.jsonl'}", f"--results={folder / 'counts.json'}")
    command = [sys.executable, "-m", "bench.sweeps.programs", *arguments, *files, "--jobs=2"]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=False, cwd=ROOT)


def test_units_are_compared_with_stock_opt(corpus: Callable[[str, str], Path], tmp_path: Path) -> None:
    corpus("picosat", "Oz")
    identity = ("identity", "--programs=picosat", "--trials=O1,Oz")
    assert soak(tmp_path, *identity).returncode == 0
    lines = (tmp_path / "cases.jsonl").read_text().splitlines()
    cases = [json.loads(line) for line in lines]
    assert {case["trial"] for case in cases} == {"O1", "Oz"}
    assert any(case["decisions"] > 100 for case in cases)
    assert soak(tmp_path, *identity).returncode == 0
    assert (tmp_path / "cases.jsonl").read_text().splitlines() == lines  # nothing is done again
    counts = json.loads((tmp_path / "counts.json").read_text())["rows"]
    assert counts["Oz, units"]["cases"] == len(cases) / 2


def test_the_counts_alone_say_what_is_done(corpus: Callable[[str, str], Path], tmp_path: Path) -> None:
    """As on another machine; what was wrong there is judged again."""
    corpus("picosat", "Oz")
    identity = ("identity", "--programs=picosat", "--trials=O1")
    assert soak(tmp_path, *identity).returncode == 0
    lines = (tmp_path / "cases.jsonl").read_text().splitlines()
    wrong = json.loads(lines[0]) | {"wrong": "is not stock opt's"}
    (tmp_path / "cases.jsonl").write_text("\n".join([json.dumps(wrong), *lines[1:]]) + "\n")
    (tmp_path / "counts.json").unlink()
    shown = soak(tmp_path, "show")
    assert (shown.returncode, f"{wrong['program']}, seed 0: is not stock opt's" in shown.stdout) == (1, True)
    counts = json.loads((tmp_path / "counts.json").read_text())["rows"]["O1, units"]
    assert (counts["cases"], len(counts["wrong"])) == (len(lines) - 1, 1)
    (tmp_path / "cases.jsonl").unlink()
    assert soak(tmp_path, *identity).returncode == 0
    again = [json.loads(line) for line in (tmp_path / "cases.jsonl").read_text().splitlines()]
    assert [case["program"] for case in again] == [wrong["program"]]
    counts = json.loads((tmp_path / "counts.json").read_text())["rows"]["O1, units"]
    assert (counts["cases"], counts["wrong"]) == (len(lines), {})


@pytest.mark.parametrize(
    ("found", "text"), [(set(), ""), ({3}, "3"), ({0, 1, 2, 7}, "0-2,7"), ({1, 3, 4}, "1,3-4")]
)
def test_numbers_as_ranges(found: set[int], text: str) -> None:
    assert ranges(found) == text
    assert numbers(text) == found


def test_units_are_compared_with_stock_llc(corpus: Callable[[str, str], Path], tmp_path: Path) -> None:
    corpus("picosat", "O2")
    assert soak(tmp_path, "llc", "--programs=picosat", "--trials=llc O1 aarch64").returncode == 0
    cases = [json.loads(line) for line in (tmp_path / "cases.jsonl").read_text().splitlines()]
    assert {case["trial"] for case in cases} == {"llc O1 aarch64"}
    assert sum(case["decisions"] for case in cases) > 1000


def test_random_answers_at_every_point(tmp_path: Path) -> None:
    assert soak(tmp_path, "csmith", "--count=2").returncode == 0
    assert soak(tmp_path, "stress", "--trials=stress x86-64,stress amdgcn", "--count=2").returncode == 0
    cases = [json.loads(line) for line in (tmp_path / "cases.jsonl").read_text().splitlines()]
    assert len(cases) == 6
    assert all(case["decisions"] and case["tree"] and case["date"] for case in cases)


def test_random_answers_in_a_part_of_a_program(corpus: Callable[[str, str], Path], tmp_path: Path) -> None:
    corpus("picosat", "O2")
    assert soak(tmp_path, "corpus", "--programs=picosat", "--count=2").returncode == 0
    cases = [json.loads(line) for line in (tmp_path / "cases.jsonl").read_text().splitlines()]
    assert sorted((case["trial"], case["seed"], case["wrong"]) for case in cases) == [
        ("part", 0, ""),
        ("part", 1, ""),
    ]
    assert all(case["decisions"] > 100 for case in cases)
    source = all_programs()["picosat"]
    first, second = (part(source, seed) for seed in (0, 1))
    assert first.source != second.source
    assert len(first.others) == 4
    assert first.source.with_suffix(".o") in second.others


def test_all_sweeps_in_parts_within_a_time(corpus: Callable[[str, str], Path], tmp_path: Path) -> None:
    corpus("picosat", "O2")
    assert soak(tmp_path, "sweeps", "--budget=1s", "--programs=picosat").returncode == 0
    cases = [json.loads(line) for line in (tmp_path / "cases.jsonl").read_text().splitlines()]
    assert 0 < len(cases) < 100
    done = soak(tmp_path, "sweeps", "--budget=1")
    assert (done.returncode, "expected a time as 90m, got '1'" in done.stderr) == (2, True)
    parts = [
        soak(tmp_path / part, "stress", "--count=3", "--trials=stress x86-64", f"--shard={part}/2")
        for part in ("1", "2")
    ]
    assert [part.returncode for part in parts] == [0, 0]
    seeds = [
        json.loads(line)["seed"]
        for part in ("1", "2")
        for line in (tmp_path / part / "cases.jsonl").read_text().splitlines()
    ]
    assert sorted(seeds) == [1, 2, 3]


def test_unwind_tables_are_compared(tmp_path: Path) -> None:
    assert soak(tmp_path, "rows-frames", "--count=2").returncode == 0
    row = json.loads((tmp_path / "counts.json").read_text())["rows"]["rows random, unwind"]
    assert (row["cases"], row["wrong"]) == (2, {})
    assert row["decisions"] > 50
