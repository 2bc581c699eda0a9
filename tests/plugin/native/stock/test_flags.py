# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The options of the plugin for stock tools together: which one wins, their limits, and the statistics."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final

import pytest

from passpilot.features.log.reader import read_log
from tests import stock
from tests.corpus.build import bindir
from tests.passes.allocation import pressure
from tests.plugin.native.stock.tools import made, run, tool

if TYPE_CHECKING:
    from pathlib import Path

O2: Final = "-passes=default<O2>"

PASSES: Final = """\
from dataclasses import dataclass
import passpilot

@passpilot.llvm.module_pass("NAME")
@dataclass(frozen=True)
class Prints:
    times: int = 1

    def run(self, module):
        print("NAME" * self.times)
        return False
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A module with some dozens of decisions."""
    return stock.clang(stock.MANY_CALLS, tmp_path / "in.bc")


def test_a_point_among_several_wins_over_its_own_flag(source: Path, tmp_path: Path) -> None:
    no = made("opt", tmp_path / "a.bc", "-passpilot-inline=const:0", O2, source)
    both = ("-passpilot-inline=const:1", "-passpilot-advise=inline=const:0")
    for flags in (both, both[::-1]):
        assert made("opt", tmp_path / "b.bc", *flags, O2, source) == no
    env = {"PASSPILOT_ADVISE": ";inline=const:0;;evict=const:32;"}
    done = tool("opt", O2, source, "-o", "d.bc", cwd=tmp_path, env=env)
    assert (done.code, done.err.count("warning: ")) == (0, 1), done.err
    assert (tmp_path / "d.bc").read_bytes() == no


def test_variables_without_an_advisor_are_for_another_tool(source: Path, tmp_path: Path) -> None:
    plain = run(bindir() / "opt", O2, source, "-o", "plain.bc", cwd=tmp_path)
    assert plain.code == 0
    env = {f"PASSPILOT_{name}": "3" for name in ("TIMEOUT", "SIZE_BUDGET", "EVICTION_LIMIT")}
    env["PASSPILOT_ON_ERROR"] = "default"
    assert made("opt", tmp_path / "a.bc", O2, source, env=env) == (tmp_path / "plain.bc").read_bytes()


WRONG: Final = {
    "timeout=0": "-passpilot-timeout: expected a number above 0, got '0'",
    "timeout=inf": "-passpilot-timeout: expected a number above 0, got 'inf'",
    "size-budget=inf": "-passpilot-size-budget: expected a number of 0 or more, got 'inf'",
    "size-budget=nan": "-passpilot-size-budget: expected a number of 0 or more, got 'nan'",
    "eviction-limit=4294967296": "-passpilot-eviction-limit: expected an integer of 0 to 4294967295, got '42",
    "advise==const:0": "-passpilot-advise: expected POINT=RUNNER, got '=const:0'",
    "at=nowhere": "-passpilot-at: expected POINT=PIPELINE, got 'nowhere'",
    "at==dce": "-passpilot-at: expected POINT=PIPELINE, got '=dce'",
    "load=": "-passpilot-load: expected a value, got none",
    "size-budget=3": "-passpilot-size-budget has no effect without an advisor; add -passpilot-inline=RUNNER",
}


@pytest.mark.parametrize("option", WRONG)
def test_values_beyond_a_limit(option: str, source: Path, tmp_path: Path) -> None:
    done = tool("opt", f"-passpilot-{option}", O2, source, "-o", "out.bc", cwd=tmp_path)
    assert done.code == 1
    assert WRONG[option] in done.err
    assert not (tmp_path / "out.bc").exists()


def test_a_wrong_variable_is_named_as_such(source: Path, tmp_path: Path) -> None:
    for name, value, told in (
        ("PASSPILOT_TIMEOUT", "soon", ": expected a number above 0, got 'soon'"),
        ("PASSPILOT_ON_ERROR", "panic", ": expected fail or default, got 'panic'"),
        ("PASSPILOT_LOG", "x.log", " has no effect without an advisor"),
    ):
        done = tool("opt", O2, source, "-o", "out.bc", cwd=tmp_path, env={name: value})
        assert done.code == 1
        assert f"{name}{told}" in done.err


def test_values_at_a_limit(source: Path, tmp_path: Path) -> None:
    flags = ("-passpilot-timeout=0.001", "-passpilot-stats", "-passpilot-inline=const:0", O2, source)
    counts = []
    for budget in ("0.001", "0"):  # 0 is no limit
        done = tool("opt", f"-passpilot-size-budget={budget}", *flags, "-o", "a.bc", cwd=tmp_path)
        assert done.code == 0, done.err
        counted = rows(done.err)
        counts.append((counted["refused"], counted.get("decided by the default, over the size budget", 0)))
    assert counts[0][0] == counts[1][1] == 0
    assert counts[0][1] > 10 < counts[1][0]
    evicting = ("-passpilot-evict=random:1", "-filetype=obj", pressure.compiled(tmp_path))
    one, most = (
        made("llc", tmp_path / "a.o", f"-passpilot-eviction-limit={limit}", *evicting)
        for limit in (1, 4294967295)
    )
    assert one != most


@pytest.mark.parametrize("logs", ["inline=own.log;all.log", "all.log;inline=own.log", "own.log"])
def test_the_log_of_a_point_wins_over_that_of_all(logs: str, source: Path, tmp_path: Path) -> None:
    env = {"PASSPILOT_LOG": logs}
    made("opt", tmp_path / "a.bc", "-passpilot-inline=const:0", O2, source, env=env)
    assert len(list(read_log(tmp_path / "own.log"))) > 1
    assert not (tmp_path / "all.log").exists()


def test_each_of_two_files_is_loaded(source: Path, tmp_path: Path) -> None:
    """Names may have digits; options that are wrong are said once."""
    for name in ("first-1", "second2"):
        (tmp_path / f"{name}.py").write_text(PASSES.replace("NAME", name))
    loads = ("-passpilot-load=first-1.py", "-passpilot-load=second2.py")
    words = (*loads, "-passes=first-1,second2{times=2}", source, "-disable-output")
    done = tool("opt", *words, cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    assert done.out == b"first-1\nsecond2second2\n"
    done = tool("opt", *loads, "-passes=first-1{time=2}", source, "-disable-output", cwd=tmp_path)
    assert done.code == 1
    assert done.err.count("expected options among times=int") == 1, done.err


def test_an_inliner_without_calls_is_no_reason_for_a_warning(tmp_path: Path) -> None:
    source = stock.clang("int one(int x) { return x; }", tmp_path / "in.bc")
    made("opt", tmp_path / "a.bc", "-passpilot-inline=const:0", O2, source)


def test_after_an_error_nothing_is_said_of_what_was_not_asked(source: Path, tmp_path: Path) -> None:
    flags = ("-passpilot-inline=onnx:none.onnx", "-passpilot-evict=const:32", "-passpilot-stats")
    done = tool("opt", *flags, O2, source, "-o", "out.bc", cwd=tmp_path)
    assert done.code == 1
    assert "model none.onnx: expected an ONNX file" in done.err
    assert "warning" not in done.err
    assert "decisions" not in done.err


@pytest.mark.parametrize(("flag", "output"), [("-S", "out.ll"), ("-o=out.bc", "out.bc")])
def test_a_log_that_cannot_be_written_leaves_no_output(
    flag: str, output: str, source: Path, tmp_path: Path
) -> None:
    words = ("-passpilot-inline=const:0", "-passpilot-log=/dev/full", O2, source, flag)
    done = tool("opt", *words, *(("-o", output) if flag == "-S" else ()), cwd=tmp_path)
    assert done.code == 1
    assert "No space left on device" in done.err
    assert done.err.count("error: ") == 1, done.err
    assert not (tmp_path / output).exists()


def rows(err: str) -> dict[str, float]:
    """The numbers of the statistics by what they count."""
    return {what: float(count) for count, what in re.findall(r"^ *([\d.]+) (.+)$", err, re.MULTILINE)}


@pytest.mark.parametrize("budget", ["", "1"])
def test_statistics_of_the_inliner(budget: str, source: Path, tmp_path: Path) -> None:
    """They are what the log has; `PASSPILOT_STATS=0` asks for none."""
    flags = ["-passpilot-inline=random:3", "-passpilot-log=x.log"]
    flags += [f"-passpilot-size-budget={budget}"] * bool(budget)
    done = tool("opt", *flags, O2, source, "-o", "a.bc", cwd=tmp_path, env={"PASSPILOT_STATS": "1"})
    assert done.code == 0
    assert f"inline advisor random:3 on {source}:\n" in done.err
    counted = rows(done.err)
    answers = Counter(int(each.tensors["inlining_decision"].item()) for each in read_log(tmp_path / "x.log"))
    assert counted["decisions"] == answers.total() > 10
    over = counted.get("decided by the default, over the size budget", 0)
    assert bool(over) == bool(budget)
    assert counted["accepted"] + counted["refused"] + over == answers.total()
    if not budget:
        assert counted["accepted"] == answers[1]
    assert counted["fallbacks to the default"] == 0
    assert counted["decided by the default, not askable"] == 0
    assert "microseconds per decision" in counted
    for value in ("0", ""):
        env = {"PASSPILOT_STATS": value}
        quiet = tool("opt", *flags[:1], O2, source, "-o", "b.bc", cwd=tmp_path, env=env)
        assert "decisions" not in quiet.err


def test_a_misspelt_variable_is_an_error(source: Path, tmp_path: Path) -> None:
    for name, meant in (("INLIN", "INLINE"), ("EVIKT", "EVICT"), ("RA_COLOR", "RA_COLOUR")):
        env = {f"PASSPILOT_{name}": "const:1"}
        done = tool("opt", O2, source, "-o", "a.bc", cwd=tmp_path, env=env)
        assert done.code == 1
        assert f"PASSPILOT_{name}: expected the name of an option, got another" in done.err
        assert f"did you mean 'PASSPILOT_{meant}'?" in done.err
    done = tool("opt", O2, source, "-o", "a.bc", cwd=tmp_path, env={"PASSPILOT_OF_ANOTHER_TOOL": "1"})
    assert (done.code, done.err) == (0, "")


def test_statistics_of_the_register_allocator(tmp_path: Path) -> None:
    source = pressure.compiled(tmp_path)
    flags = ("-passpilot-evict=random:1", "-passpilot-priority=random:1", "-passpilot-log=evict=x.log")
    done = tool("llc", *flags, "-passpilot-stats", "-filetype=obj", source, "-o", "out.o", cwd=tmp_path)
    assert done.code == 0, done.err
    first, second = re.findall(r"^(\w+) advisor random:1 on .*:\n((?: .*\n)+)", done.err, re.MULTILINE)
    assert (first[0], second[0]) == ("evict", "priority")
    counted = rows(first[1])
    columns = [int(each.tensors["index_to_evict"].item()) for each in read_log(tmp_path / "x.log")]
    assert counted["decisions"] == len(columns) > 10
    assert counted["kept"] == columns.count(32)
    assert counted["evictions"] == len(columns) - columns.count(32) > 0
    assert not {"accepted", "refused", "kept", "evictions"} & rows(second[1]).keys()


def test_fallbacks_are_counted_and_the_first_is_named(source: Path, tmp_path: Path) -> None:
    (tmp_path / "policy.py").write_text(
        "import itertools\nCOUNT = itertools.count()\n"
        "def fails(obs):\n    raise ValueError(f'number {next(COUNT)}')\n"
    )
    flags = ("-passpilot-inline=python:policy.py:fails", "-passpilot-on-error=default", "-passpilot-stats")
    done = tool("opt", *flags, O2, source, "-o", "a.bc", cwd=tmp_path)
    assert done.code == 0
    counted = rows(done.err)
    assert counted["fallbacks to the default"] == counted["decisions"] > 10
    assert counted["accepted"] == counted["refused"] == 0
    assert "ValueError: number 0 (" in done.err
    assert done.err.count("ValueError") == 1
