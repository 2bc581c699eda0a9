# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`ProgramRuns`: what is right, wrong or unknown, in which turns programs run, and what is timed."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from passpilot.training.corpus.layout import ProgramRun
from passpilot.training.timing.commands import CommandResult, Commands
from passpilot.training.timing.paired_times import PairedRatio, ratio_text
from passpilot.training.timing.program_runs import ProgramRuns, RunOutcome

BUSY = "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done\n"
"""Takes processor time that can be measured."""


def script(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}")
    path.chmod(0o755)
    return str(path)


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def measured(
    linked: dict[str, str], *runs: ProgramRun, rounds: int = 0, deadline: float = 60.0, counts: bool = False
) -> dict[str, RunOutcome]:
    """The outcomes; the first program is the reference. Every round of every program is a step."""
    counted: list[int] = []
    made = ProgramRuns(
        Commands(), runs or (ProgramRun(),), deadline, lambda: counted.append(1), counts=counts
    )
    outcomes = made.measure(linked, next(iter(linked)), rounds)
    assert len(counted) == len(linked) * (1 + rounds)
    return outcomes


def test_the_first_program_says_what_is_right(tmp_path: Path) -> None:
    linked = {name: script(tmp_path, name, f"echo {text}") for name, text in (("a", 1), ("b", 1), ("c", 2))}
    made = measured(linked)
    assert {name: each.output for name, each in made.items()} == {"a": "right", "b": "right", "c": "wrong"}
    expected = f"run: expected the output with sha256 {sha256('1' + chr(10))[:12]}, got "
    assert made["c"].errors == [f"{expected}{sha256('2' + chr(10))[:12]}"]
    assert made["a"].errors == made["b"].errors == []
    assert made["a"].time is None


def test_every_run_has_arguments_a_folder_and_an_output(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    linked = {"a": script(tmp_path, "a", 'echo "$#" "$1"; pwd')}
    runs = [
        ProgramRun(("x y", "z"), str(tmp_path), sha256(f"2 x y\n{tmp_path}\n")),
        ProgramRun((), str(tmp_path / "there"), sha256(f"0 \n{tmp_path}/there\n")),
    ]
    assert measured(linked, *runs)["a"].output == "right"
    made = measured(linked, runs[0], ProgramRun((), str(tmp_path), runs[1].stdout_sha256))["a"]
    assert made.output == "wrong"
    (error,) = made.errors
    assert error.startswith("run 2: expected the output with sha256 ")


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("exit 3", "run: expected success, got exit code 3"),
        ("kill -SEGV $$", "run: expected success, got signal 11"),
    ],
)
def test_a_program_that_ends_badly_is_told_once_and_not_timed(text: str, error: str, tmp_path: Path) -> None:
    linked = {"good": script(tmp_path, "good", BUSY), "bad": script(tmp_path, "bad", text)}
    made = measured(linked, rounds=2)
    assert (made["bad"].output, made["bad"].errors, made["bad"].time) == ("wrong", [error], None)
    assert made["good"].time


def test_a_program_that_hangs_is_unknown(tmp_path: Path) -> None:
    made = measured({"a": script(tmp_path, "a", "sleep 1000")}, rounds=2, deadline=0.2)["a"]
    assert (made.output, made.time) == ("unknown", None)
    assert made.errors == ["run: expected an end within 0.2 s, got none"]


def test_a_program_that_cannot_start_is_unknown(tmp_path: Path) -> None:
    linked = {"a": script(tmp_path, "a", "")}
    made = measured(linked, ProgramRun(directory=str(tmp_path / "none")))["a"]
    assert made.output == "unknown"
    assert "expected to run it, got: No such file or directory" in made.errors[0]


def test_variables_of_ours_do_not_reach_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PASSPILOT_INLINE", "const:0")
    monkeypatch.setenv("OTHER", "kept")
    linked = {"a": script(tmp_path, "a", 'echo "$PASSPILOT_INLINE.$OTHER"')}
    assert measured(linked, ProgramRun((), "", sha256(".kept\n")))["a"].output == "right"


def test_programs_run_in_turns_on_one_processor(tmp_path: Path) -> None:
    text = f"{BUSY}echo $(basename $0) $(taskset -pc $$ | sed 's/.*: //') >> order"
    linked = {name: script(tmp_path, name, text) for name in "abc"}
    made = measured(linked, ProgramRun(directory=str(tmp_path)), rounds=4)
    rows = [line.split() for line in (tmp_path / "order").read_text().splitlines()]
    assert "".join(name for name, _ in rows) == "abcabcbcacababc"
    assert {processor for _, processor in rows} == {str(max(os.sched_getaffinity(0)))}
    for each in made.values():
        assert each.time
        assert each.time["pairs"] == 4
    assert made["a"].time
    assert made["a"].time["ratio"] == 1


class Clocked(Commands):
    """Runs nothing; the processor times are given, by program."""

    def __init__(self, times: dict[str, list[float]]) -> None:
        super().__init__()
        self._times = {path: iter(each) for path, each in times.items()}

    def run(self, words: Sequence[str], deadline: float, **_: object) -> CommandResult:
        return CommandResult(0, next(self._times[words[-1]]), b"", is_late=deadline < 0, stdout_sha256="00")


def test_the_time_is_that_of_all_runs_together_and_in_the_median() -> None:
    """The first round is for the output, and not timed."""
    times: dict[str, list[float]] = {
        "/a": [9, 9, 1, 2, 3.00004, 3, 4, 4],
        "/b": [9, 9, 2, 2, 3.00004, 3, 30, 30],
    }
    made = ProgramRuns(Clocked(times), [ProgramRun(), ProgramRun()], 60, lambda: None)
    found = made.measure({"a": "/a", "b": "/b"}, "a", 3)
    one, other = found["a"].time, found["b"].time
    assert one
    assert other
    assert (one["seconds"], one["ratio"], one["pairs"]) == (6, 1, 3)
    assert (other["seconds"], other["pairs"]) == (6, 3)
    assert other["ratio"] == pytest.approx((4 / 3 * 1 * 60 / 8) ** (1 / 3))


def test_a_program_that_changes_its_mind_has_no_time(tmp_path: Path) -> None:
    """It is right at first, and prints something else in a later round; nor is it the reference then."""
    once = f"{BUSY}[ -e was-here ] && echo more; touch was-here"
    linked = {"a": script(tmp_path, "a", once), "b": script(tmp_path, "b", BUSY)}
    made = measured(linked, ProgramRun((), str(tmp_path), sha256("")), rounds=2)
    assert (made["a"].output, made["a"].time) == ("wrong", None)
    assert len(made["a"].errors) == 1
    assert made["b"].output == "right"


def test_without_the_reference_there_are_no_times(tmp_path: Path) -> None:
    linked = {"a": script(tmp_path, "a", "exit 1"), "b": script(tmp_path, "b", BUSY)}
    made = measured(linked, rounds=2)
    assert (made["b"].output, made["b"].time) == ("right", None)


def test_instructions_are_those_of_all_runs_and_processes(tmp_path: Path) -> None:
    def compiled(name: str, body: str) -> str:
        text = f"int main(int n, char **v) {{ {body} }}"
        command = ["clang-22", "-O1", "-xc", "-", "-o", name]
        subprocess.run(command, input=text.encode(), cwd=tmp_path, check=True)
        return str(tmp_path / name)

    loop = "volatile int s = 0; for (int i = 0; i < 100000 * n; i++) s += i; return 0;"
    linked = {"a": compiled("a", loop), "b": compiled("b", "return 1;")}
    linked["shell"] = script(tmp_path, "shell", linked["a"])
    made = measured(linked, counts=True)
    one, shell = made["a"].instructions or 0, made["shell"].instructions or 0
    assert 400_000 < one < shell
    assert made["b"].instructions is None, "it fails"
    again = measured({"a": linked["a"]}, ProgramRun(), ProgramRun(("x",)), counts=True)["a"].instructions or 0
    assert 2.4 * one < again < 3.1 * one, "the second run does twice as much"


def test_a_ratio_with_a_wide_interval_is_not_known() -> None:
    timed: PairedRatio = {"ratio": 1.01, "low": 1.0, "high": 1.02, "pairs": 5}
    assert ratio_text(timed) == "1.010 (1.000-1.020)"
    assert ratio_text({**timed, "high": 1.06}) == "not known"
    assert ratio_text({**timed, "low": None, "high": None}) == "1.010"
