# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot eval`: the defaults and bounds of its options, and the lines about errors."""

from __future__ import annotations

import pytest

from passpilot.cli import eval as command
from passpilot.cli.eval import EvalOptions, make_parser
from passpilot.cli.parser import record
from passpilot.plugin.errors import UsageError


def options_of(*flags: str) -> EvalOptions:
    return record(EvalOptions, make_parser().values(["--corpus=c", *flags]))


def test_defaults() -> None:
    assert options_of() == EvalOptions(
        corpus="c",
        policy=(),
        baselines="",
        program=(),
        output="",
        markdown="",
        html="",
        resume=False,
        jobs=0,
        deadline=300.0,
        run_deadline=60.0,
        rounds=5,
        no_runs=False,
        no_logs=False,
        no_cache=False,
    )


@pytest.mark.parametrize("flag", ["deadline", "run-deadline"])
@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf", "1e9", "soon", ""])
def test_a_deadline_out_of_bounds(flag: str, text: str) -> None:
    with pytest.raises(UsageError, match=f"expected a number of seconds above 0, got '{text}'"):
        options_of(f"--{flag}={text}")


def test_deadlines_within_bounds() -> None:
    options = options_of("--deadline=0.001", "--run-deadline=999999999")
    assert (options.deadline, options.run_deadline) == (0.001, 999999999.0)


def test_the_rounds_of_a_result_without_runs_are_none() -> None:
    assert command._facts(options_of("--rounds=7"), "clang")["rounds"] == 7
    assert command._facts(options_of("--rounds=7", "--no-runs"), "clang")["rounds"] == 0


def test_the_result_names_the_compiler_and_the_whole_path_of_the_corpus() -> None:
    facts = command._facts(options_of(), "clang 22")
    assert facts["compiler"] == "clang 22"
    assert str(facts["corpus"]).startswith("/")
    assert str(facts["corpus"]).endswith("/c")


def test_baselines_may_have_blanks_and_keep_their_order() -> None:
    found = command._baselines(options_of("--baselines= -Os , -Oz+outline,-O2"))
    assert [each.name for each in found] == ["-Os", "-Oz+outline", "-O2"]
    plain = command._baselines(options_of())
    assert [each.name for each in plain] == ["-Oz", "-Os", "-O2", "-Oz+outline"]


@pytest.mark.parametrize("text", ["-Oz,", ",", "-Oz,,-Os"])
def test_an_empty_baseline(text: str) -> None:
    with pytest.raises(UsageError, match="expected levels such as -Oz or -Oz\\+outline, got ''"):
        command._baselines(options_of(f"--baselines={text}"))


def test_errors_come_before_warnings() -> None:
    results = {"a": {"errors": ["one", "two"]}, "b": {"errors": ["three"]}}
    assert command._lines({"name": "p", "results": results, "warnings": ["four"]}) == [
        "error: eval: p, a: one",
        "error: eval: p, a: two",
        "error: eval: p, b: three",
        "warning: eval: p, four",
    ]
