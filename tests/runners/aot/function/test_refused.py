# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What cannot be compiled is named by file and line; the text is never run."""

from __future__ import annotations

import textwrap
from pathlib import Path

import numpy as np
import pytest

from passpilot.features.domain import Flag
from passpilot.plugin.errors import PolicyError
from passpilot.runners.aot.function.source import PolicySource
from tests.runners.aot.function.policies import ask_compiled, ask_python, compiled, interpreted, values


def refusal(text: str, folder: Path) -> str:
    """The error, without the path before the file's name."""
    with pytest.raises(PolicyError) as caught:
        compiled(textwrap.dedent(text), folder, Flag())
    return str(caught.value).partition(".py")[2]


BODIES = {
    'while obs["a"] > 1:\n        pass': ":2: expected assignments, if, for and return, got a while loop",
    "return [x for x in (1, 2)]": ":2: expected numbers, comparisons, arithmetic and conditions, got a lis",
    'x = 1\n    return obs["a"] << x': ":3: expected +, -, *, /, //, %, &, | or ^, got <<",
    'return obs["a"] ** 2': ":2: expected +, -, *, /, //, %, &, | or ^, got ** of variables; write x * x",
    'return obs["a"] is None': ":2: expected <, <=, >, >=, ==, !=, in or not in, got is; write == for is",
    'if obs["a"] > 1:\n        x = 1\n    return x': ":4: expected a value of 'x' on every path to here, g",
    'if obs["a"] > 1:\n        return 1': ":1: expected a return on every path of decide, got the end of t",
    "return": ":2: expected a number to return, got None",
    'return obs["nothing"]': ":2: expected a feature of a-point, got 'nothing'; `passpilot features --point=",
    'return obs["v"]': ":1: expected one element of a feature, got all of v, int64[1,3]; write obs['v'][0]",
    'return obs["v"][0][3]': ":2: expected an index into v, int64[1,3], got [3]",
    'return obs["v"][0][obs["a"]]': ":2: expected a constant index, got the feature a of int64[1]",
    "return obs.site": ":2: expected numbers, comparisons, arithmetic and conditions, got an attribute",
    "return obs.site.cost()": ":2: expected numbers, comparisons, arithmetic and conditions, got an attrib",
    "return print(1)": ":2: expected a function of the file, got print; def it at the top of the file",
    "return unknown": ":2: expected a variable or a constant of the file, got 'unknown'",
    "return decide(obs)": ":2: expected functions that do not call themselves, got decide within decide",
    'x = obs["a"]\n    x += 1\n    return x': ":3: expected a number of Python's to change, got a tensor, ",
    'return int(obs["a"] + 1)': ":2: expected a number for int(), got an array, the result of numpy's arit",
    "for i in range(10**9):\n        pass\n    return 1": ":2: expected at most 100000 operations when loops",
    "return 1 // 0": ":2: expected an expression of constants that has a value, got ZeroDivisionError",
    "return 2**64 + obs['a'].item()": ":2: expected an integer of 64 bits, got a larger one",
    "return 2**9999": ":2: expected constants of at most 1024 bits, got a larger one",
    "return obs['a'] * 0.5": ":1: expected a bool or an integer 0 or 1, got float64 of numpy",
    "return 'text'": ":1: expected a number, got a str",
    "return obs": ":1: expected a number, got the observation",
    "import math\n    return 1": ":2: expected assignments, if, for and return, got an import",
    "return f'{1}'": ":2: expected numbers, comparisons, arithmetic and conditions, got an f-string",
    "return ((1 +": ":2: expected Python, got SyntaxError",
    "return " + "(" * 300 + "1" + ")" * 300: ":",
    "return " + "-" * 5000 + "1": ":",
    "return " + "+".join(["obs['a'].item()"] * 9000): ":",
}


@pytest.mark.parametrize("body", BODIES, ids=lambda body: body[:24])
def test_a_construct_is_named_by_its_line(body: str, tmp_path: Path) -> None:
    assert refusal(f"def decide(obs):\n    {body}\n", tmp_path).startswith(BODIES[body])


FILES = {
    "decide = 3\n": ":1: expected a plain function 'decide' at the top of the file, got another",
    "class decide:\n    pass\n": ":1: expected a plain function 'decide' at the top of the file, got another",
    "def other(obs):\n    return 1\n": ": expected a function of this file (other), got 'decide'",
    "def decide(obs):\n    return 1\ndef decide(obs):\n    return 0\n": ":3: expected a plain function 'de",
    "@staticmethod\ndef decide(obs):\n    return 1\n": ":2: expected a plain function, got one with a deco",
    "def decide(obs, other):\n    return 1\n": ":1: expected decide(obs), a function of one argument, got ",
    "def decide(*obs):\n    return 1\n": ":1: expected decide(obs), a function of one argument, got another",
    "X = 1\nX = 2\ndef decide(obs):\n    return X\n": ":4: expected a variable or a constant of the file",
    "X = open('f')\ndef decide(obs):\n    return X\n": ":1: expected a function of the file, got open",
    "X = Y\nY = X\ndef decide(obs):\n    return X\n": ":2: expected a constant, got 'X', which needs itself",
    "from os import *\nX = 1\ndef decide(obs):\n    return X\n": ":1: expected the names that are imported",
    "def f(x, y):\n    return x\ndef decide(obs):\n    return f(1)\n": ":4: expected arguments that f takes",
    "def f(x):\n    return x\ndef decide(obs):\n    return f(1, z=2)\n": ":4: expected arguments that f ta",
    "def f(x):\n    y = x\ndef decide(obs):\n    return f(1)\n": ":1: expected a return on every path of f",
    "def min(a, b):\n    return a\nmin = 3\ndef decide(obs):\n    return min(1, 2)\n": ":5: expected a fun",
    "def a(o):\n    return b(o)\ndef b(o):\n    return a(o)\ndef decide(obs):\n    return a(obs)\n": ":4: ",
    "\0": ":1: expected Python, got ",
}


@pytest.mark.parametrize("text", FILES, ids=lambda text: text[:24])
def test_a_file_is_refused_by_its_line(text: str, tmp_path: Path) -> None:
    assert refusal(text, tmp_path).startswith(FILES[text])


def test_a_file_that_is_none(tmp_path: Path) -> None:
    for path in (tmp_path / "absent.py", tmp_path):
        with pytest.raises(PolicyError, match="expected a Python file, got: "):
            PolicySource(str(path))


USES = """\
import nothing_of_this_name
open("ran", "w").close()
LIMIT: int = 2 * 10 + 1
NAMES = ("a", "b")
WEIGHTS = (0.5, -1.5)


def total(obs, bias=1):
    \"\"\"The weighed sum.\"\"\"
    sum = bias
    for i in range(len(NAMES)):
        if i == 5:
            break
        sum += WEIGHTS[i] * obs[NAMES[i]].item()
    else:
        sum = sum + 1
    return sum


def decide(obs):
    x, (y, z) = 1, (2, 3)
    if (t := total(obs, bias=2)) > LIMIT or not total(obs):
        return obs.default()
    best = -1
    for i, w in ((0, 1), (1, 3), (2, 5)):
        if obs["v"][0][i] * w > 4:
            best = i
            break
        if obs["v"][0][i] == 0:
            continue
        best -= w
    assert_ = best == 0 or best in (x, y, z) and t != 3
    return assert_


decide.features = ("a", "b")
"""


def test_constants_helpers_and_loops(tmp_path: Path) -> None:
    text = USES
    function, library = compiled(text, tmp_path, Flag())
    decide = interpreted(text.partition("\n")[2].partition("\n")[2])
    answers: set[float | str] = set()
    for seed in range(200):
        given = values(seed)
        ours = ask_compiled(function, library, given)
        python = ask_python(decide, given, Flag())
        answers.add(python)
        assert ours == python
    assert answers == {0.0, 1.0}
    library.close()
    assert not Path("ran").exists(), "the file is not run"


def test_a_long_chain_of_conditions(tmp_path: Path) -> None:
    arms = "".join(f"    elif x == {i}:\n        y = {i * 7 % 5}\n" for i in range(300))
    first = "def decide(obs):\n    x = obs['a']\n    if x < 0:\n        y = 1\n"
    text = f"{first}{arms}    else:\n        y = 3\n    return y > 2\n"
    function, library = compiled(text, tmp_path, Flag())
    for a in (-3, 0, 7, 299, 300):
        given = {**values(0), "a": np.array([a])}
        assert ask_compiled(function, library, given) == ask_python(interpreted(text), given, Flag())
    library.close()
