# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Figures fail when they slip: scripts know their bars, and `--check` exits 1 beyond one."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bench import check as checks
from bench.check import CHECKS, Check
from bench.lib.bars import Bar, Record

ROOT = Path(__file__).parents[2]
SCRIPT = """\
from pathlib import Path
from bench.lib import bars, records
records.RESULTS = Path("results").absolute()
bars.settle(bars.Bar("time", {value}, 1.5, "stock"), bars.Bar("rate", 2, 1, least=True))
"""


def settled(folder: Path, value: float, *flags: str) -> subprocess.CompletedProcess[str]:
    (folder / "mine.py").write_text(SCRIPT.format(value=value))
    return subprocess.run(
        [sys.executable, "-m", "mine", *flags],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


@pytest.mark.parametrize(("value", "code"), [(1.5, 0), (1.51, 1)])
def test_check_fails_beyond_a_bar(tmp_path: Path, value: float, code: int) -> None:
    assert settled(tmp_path, value, "--check").returncode == code
    assert settled(tmp_path, value).returncode == 0


def test_a_record_names_the_machine_and_the_verdicts(tmp_path: Path) -> None:
    done = settled(tmp_path, 2.0)
    record = json.loads((tmp_path / "results/bars/mine.json").read_text())
    assert [(bar["name"], bar["value"], bar["limit"]) for bar in record["bars"]] == [
        ("time", 2.0, 1.5),
        ("rate", 2, 1),
    ]
    assert record["machine"]["cores"] >= 1
    assert record["machine"]["processor"]
    assert "BEYOND  time: 2 (≤ 1.5, against stock)" in done.stdout


def test_what_is_no_number_is_beyond_its_bar() -> None:
    assert not Bar("a", math.nan, 1).passed
    assert not Bar("a", math.nan, 1, least=True).passed


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.script)
def test_every_checked_script_settles_its_bars(check: Check) -> None:
    text = (ROOT / "bench/measure" / f"{check.script.replace('.', '/')}.py").read_text()
    assert "    settle(" in text


def test_a_script_past_its_deadline_ends_with_its_children(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pid = tmp_path / "pid"
    (tmp_path / "slow.py").write_text(
        "import subprocess\n"
        "child = subprocess.Popen(['sleep', '300'])\n"
        f"open({str(pid)!r}, 'w').write(str(child.pid))\n"
        "child.wait()\n"
    )
    monkeypatch.setattr(checks, "MEASURES", "")
    monkeypatch.setattr(checks, "ROOT", tmp_path)
    monkeypatch.setattr(checks, "RESULTS", tmp_path)
    assert checks.run(Check("slow", deadline=10)) == "slow: no end after 10 s"
    deadline = time.monotonic() + 30
    while _sleeps(int(pid.read_text())):
        assert time.monotonic() < deadline, "the script's child is still there"
        time.sleep(0.05)


def _sleeps(pid: int) -> bool:
    command = Path(f"/proc/{pid}/cmdline")
    try:
        return b"sleep" in command.read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.parametrize(("values", "runs"), [((1,), 1), ((2, 1), 2), ((2, 2, 1), 3), ((2, 2, 2), 3)])
def test_a_figure_beyond_its_bar_is_measured_three_times(
    monkeypatch: pytest.MonkeyPatch, values: tuple[float, ...], runs: int
) -> None:
    left = iter(values)
    made: list[Record] = []

    def run(check: Check) -> str:
        made.append(Record(check.script, "", {}, (Bar("time", next(left), 1.5),)))
        return ""

    monkeypatch.setattr(checks, "run", run)
    monkeypatch.setattr(checks, "read_record", lambda _: made[-1])
    assert checks.run_until_passed(Check("mine")) == ""
    assert len(made) == runs
