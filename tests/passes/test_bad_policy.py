# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Policies and features that fail or answer nonsense, through the command line, under both error policies."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.command import CALLS, files_in, passpilot, program, refused, stock

FEATURE_FILE = """\
import passpilot

@passpilot.feature("int64[1]")
def text_feature(site):
    return "seven"


@passpilot.feature("int8[1]")
def large_feature(site):
    return 300


@passpilot.feature("int64[1]")
def nan_feature(site):
    return float("nan")


@passpilot.feature("int64[2]")
def short_feature(site):
    return [1]


@passpilot.feature("int64[1]")
def none_feature(site):
    return None


@passpilot.feature("uint64[1]")
def negative_feature(site):
    return -1


@passpilot.feature("int64[1]")
def raising_feature(site):
    return 1 // 0

"""

POLICIES = """\
import os
import sys

import numpy as np


def raises(obs):
    raise ValueError("no idea")


def raises_without_text(obs):
    raise KeyError


def raises_in_lines(obs):
    raise ValueError("first\\nsecond")


class Unspeakable(Exception):
    def __str__(self):
        raise RuntimeError("not even this")


def raises_unspeakable(obs):
    raise Unspeakable


def divides(obs):
    return helper(int(obs["callee_users"][0]))


def helper(users):
    return 1 // (users - users)


def no_such_feature(obs):
    return obs["weight"] > 1


def no_such_attribute(obs):
    return obs.site.colour


def writes_what_is_not_its(obs):
    obs["callee_users"][:] = "many"
    return True


def recursion(obs):
    return recursion(obs)


def leaves(obs):
    sys.exit(0)


def memory(obs):
    raise MemoryError


class Shy:
    def __bool__(self):
        raise ValueError("do not ask me")

    def __repr__(self):
        raise ValueError("nor this")


ANSWERS = {
    "none": None,
    "two": 2,
    "minus_one": -1,
    "huge": 1 << 70,
    "nan": float("nan"),
    "half": 0.5,
    "one_point_zero": 1.0,
    "numpy_float": np.float64(1),
    "numpy_two": np.int64(2),
    "numpy_huge": np.uint64(1 << 63),
    "yes": "yes",
    "bytes": b"\\x01",
    "bytearray": bytearray(b"\\x01"),
    "pair": np.array([1, 0]),
    "empty": np.array([], dtype=np.int64),
    "float_array": np.array([1.0]),
    "complex": 1j,
    "list": [True],
    "tuple": (1,),
    "function": print,
    "type": bool,
    "shy": Shy(),
    "long_text": "x" * 1000,
    "lines": "a\\nb",
}
for name, answer in ANSWERS.items():
    globals()[name] = lambda obs, answer=answer: answer


def wants(name):
    def decide(obs):
        return obs[name][0] > 0
    decide.features = (name,)
    return decide


for name in ("text", "large", "nan", "short", "none", "negative", "raising"):
    globals()["wants_" + name] = wants(name + "_feature")


class CannotBeMade:
    def __init__(self):
        raise OSError("no weights")


class NeedsArguments:
    def __init__(self, path):
        pass


def two_arguments(obs, more):
    return True


async def coroutine(obs):
    return True


def wrong_features(obs):
    return True


wrong_features.features = "callee_users"
number = 3
"""

RAISING = {
    "raises": "ValueError: no idea (%s:8)",
    "raises_without_text": "KeyError (%s:12)",
    "raises_in_lines": "ValueError: first second (%s:16)",
    "raises_unspeakable": "Unspeakable: (its text cannot be read: RuntimeError) (%s:25)",
    "divides": "ZeroDivisionError: integer division or modulo by zero (%s:33)",
    "no_such_feature": "'weight'",
    "no_such_attribute": "(%s:41)",
    "writes_what_is_not_its": "(%s:45)",
    "recursion": "RecursionError: ",
    "memory": "MemoryError (%s:58)",
}
ANSWERS = {
    "none": "None",
    "two": "int 2",
    "minus_one": "int -1",
    "huge": f"int {1 << 70}",
    "nan": "float nan",
    "half": "float 0.5",
    "one_point_zero": "float 1.0",
    "numpy_float": "float64 ",
    "numpy_two": "int64 ",
    "numpy_huge": "uint64 ",
    "yes": "str 'yes'",
    "bytes": "bytes b'\\x01'",
    "bytearray": "bytearray ",
    "pair": "ndarray ",
    "empty": "ndarray ",
    "float_array": "ndarray ",
    "complex": "complex 1j",
    "list": "list [True]",
    "tuple": "tuple (1,)",
    "function": "builtin_function_or_method ",
    "type": "type ",
    "shy": "Shy",
    "long_text": "str 'xxx",
    "lines": "str 'a\\nb'",
}
FEATURES = {
    "text": "str",
    "large": "300",
    "nan": "nan",
    "short": "int64[2]",
    "none": "None",
    "negative": "-1",
    "raising": "ZeroDivisionError",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "p.py").write_text(POLICIES)
    (tmp_path / "f.py").write_text(FEATURE_FILE)
    (tmp_path / "in.ll").write_text(program())
    return tmp_path


def compile_flags(name: str) -> tuple[str, ...]:
    return ("opt", "in.ll", "-O2", f"--inline=python:p.py:{name}", "-o", "out.bc")


def refusal(folder: Path, name: str) -> str:
    return refused(*compile_flags(name), "--log=l", cwd=folder)


def falls_back(folder: Path, name: str, *flags: str) -> str:
    """The warning of a compilation in which each decision falls back, and which is opt's then."""
    done = passpilot(*compile_flags(name), "--on-error=default", "--stats", *flags, cwd=folder)
    assert done.code == 0, done
    assert re.search(rf"^ *{CALLS} fallbacks to the default$", done.err, re.MULTILINE), done.err
    assert (folder / "out.bc").read_bytes() == stock(Path("in.ll"), "-O2", cwd=folder)
    (warning,) = (line for line in done.err.splitlines() if line.startswith("passpilot: warning: "))
    assert f"{CALLS} of {CALLS} decisions fell back" in warning
    return warning


@pytest.mark.parametrize("name", RAISING)
def test_a_policy_that_raises(folder: Path, name: str) -> None:
    line = refusal(folder, name)
    told = RAISING[name].replace("%s", "p.py")
    assert told in line.replace(f"{folder}/", "")
    assert "decision 0 (caller0 -> callee)" in line
    assert told in falls_back(folder, name).replace(f"{folder}/", "")


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_outside_the_domain(folder: Path, name: str) -> None:
    line = refusal(folder, name)
    assert f"decision 0 (caller0 -> callee): expected True, False, 0 or 1, got {ANSWERS[name]}" in line
    assert len(line) < 300
    assert f"got {ANSWERS[name]}" in falls_back(folder, name)


@pytest.mark.parametrize("name", FEATURES)
def test_a_feature_that_does_not_fit(folder: Path, name: str) -> None:
    line = refused(*compile_flags(f"wants_{name}"), "--load=f.py", cwd=folder)
    assert FEATURES[name] in line
    assert f"{name}_feature" in line
    assert "caller0 -> callee" in line
    assert f"{name}_feature" in falls_back(folder, f"wants_{name}", "--load=f.py")


def test_a_feature_that_fails_beside_a_log(folder: Path) -> None:
    """The log wants it, though the runner does not."""
    flags = ("opt", "in.ll", "-O2", "--inline=const:1", "--load=f.py", "--log=l", "-o", "out.bc")
    assert "_feature" in refused(*flags, cwd=folder)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("CannotBeMade", "OSError: no weights"),
        ("NeedsArguments", "path"),
        ("two_arguments", "two_arguments(obs, more)"),
        ("coroutine", "coroutine"),
        ("wrong_features", "'callee_users'"),
        ("number", "3"),
        ("nobody", "'nobody'"),
    ],
)
@pytest.mark.parametrize("on_error", ["fail", "default"])
def test_what_is_no_policy(folder: Path, name: str, told: str, on_error: str) -> None:
    """Refused before the compilation; no fallback stands in for a wrong command."""
    assert told in refused(*compile_flags(name), f"--on-error={on_error}", cwd=folder)


@pytest.mark.parametrize("on_error", ["fail", "default"])
def test_a_policy_that_leaves(folder: Path, on_error: str) -> None:
    line = refused(*compile_flags("leaves"), f"--on-error={on_error}", cwd=folder)
    assert "SystemExit" in line


def test_the_whole_traceback(folder: Path) -> None:
    done = passpilot(*compile_flags("divides"), "--traceback", cwd=folder)
    assert done.code == 1
    assert "Traceback (most recent call last)" in done.err
    assert "in divides" in done.err
    assert "in helper" in done.err
    assert "passpilot: error: " in done.err.splitlines()[-1]
    assert files_in(folder) == ["f.py", "in.ll", "p.py"]


def test_some_decisions_fall_back(folder: Path) -> None:
    """What the policy does answer counts; what it does not is LLVM's."""
    (folder / "some.py").write_text(
        "def decide(obs):\n"
        "    if int(obs.site.caller.name.removeprefix('caller')) % 3 == 0:\n"
        "        raise ValueError('not this one')\n"
        "    return False\n"
    )
    flags = (
        "opt",
        "in.ll",
        "-O2",
        "--inline=python:some.py:decide",
        "--on-error=default",
        "--log=l",
        "-o",
        "out.bc",
    )
    done = passpilot(*flags, cwd=folder)
    assert done.code == 0
    assert f"{CALLS // 3} of {CALLS} decisions fell back to the default; the first: " in done.err
    shown = passpilot("log", "show", "l", cwd=folder).out.decode()
    assert f"{CALLS} decisions, {CALLS // 3} inlined, {CALLS // 3} as LLVM's default" in shown


def test_a_failure_at_a_name_that_is_no_text(folder: Path) -> None:
    text = (folder / "in.ll").read_text().replace("@callee(", '@"call\\E9e"(')
    (folder / "in.ll").write_text(text)
    assert "ValueError: no idea" in refusal(folder, "raises")


def test_an_answer_that_is_cut(folder: Path) -> None:
    (folder / "cut.py").write_text("def decide(obs):\n    return 'x' * 55 + '\u00e9' * 9\n")
    flags = ("opt", "in.ll", "-O2", "--inline=python:cut.py:decide", "-o", "out.bc")
    assert "got str 'xxx" in refused(*flags, cwd=folder)
