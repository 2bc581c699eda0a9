# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot eval`: the defaults and bounds of its options, and the lines about errors."""

from __future__ import annotations

import inspect

import pytest

import passpilot
from passpilot.cli import eval as command
from passpilot.cli.eval import make_parser
from passpilot.cli.evaluate import _baseline
from passpilot.plugin.errors import UsageError
from passpilot.training.evaluation.competitors import BASELINES
from tests.training.evaluation.results import competitor, program


def options_of(*flags: str) -> dict[str, object]:
    return make_parser().values(["--corpus=c", *flags])


def test_defaults_are_those_of_the_function() -> None:
    signature = inspect.signature(passpilot.evaluate)
    values = {**options_of(), "contenders": (), "baselines": BASELINES}
    for name, parameter in list(signature.parameters.items())[1:-2]:
        assert values.get(name) == parameter.default, name
    assert set(values) - set(signature.parameters) == {
        "contender",
        "force",
        "html",
        "markdown",
        "profile",
        "traceback",
    }


@pytest.mark.parametrize("flag", ["deadline", "run-deadline"])
@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf", "1e9", "soon", ""])
def test_a_deadline_out_of_bounds(flag: str, text: str) -> None:
    with pytest.raises(UsageError, match=f"expected a number of seconds above 0, got '{text}'"):
        options_of(f"--{flag}={text}")


def test_baselines_may_have_blanks_and_are_levels() -> None:
    assert [_baseline(name).name for name in (" -Os ", " -Oz+outline", "-O2")] == [
        "-Os",
        "-Oz+outline",
        "-O2",
    ]
    with pytest.raises(UsageError, match="expected levels such as -Oz or -Oz\\+outline, got ''"):
        _baseline(" ")


@pytest.mark.parametrize("text", ["-Oz,", ",", "-Oz,,-Os"])
def test_an_empty_baseline(text: str) -> None:
    with pytest.raises(UsageError, match="expected levels such as -Oz or -Oz\\+outline, got ''"):
        command.main(["--corpus=c", f"--baselines={text}"])


def test_errors_come_before_warnings() -> None:
    results = {"a": competitor(errors=("one", "two")), "b": competitor(errors=("three",))}
    assert command._lines(program("p", ("four",), **results)) == [
        "error: eval: p, a: one",
        "error: eval: p, a: two",
        "error: eval: p, b: three",
        "warning: eval: p, four",
    ]
