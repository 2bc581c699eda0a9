# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled decision functions answer as the interpreter does, on functions and observations at random."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Final

import pytest

from passpilot.features.domain import Choice, Domain, Flag
from passpilot.plugin.errors import PolicyError
from tests.runners.aot.function.policies import (
    ANY,
    Writer,
    ask_compiled,
    ask_python,
    compiled,
    interpreted,
    values,
)

LIMITS = ("64 bits", "53 bits")
OBSERVATIONS = 30
REFUSED: Final = re.compile("of numpy|an array|an expression of constants that has a value, got Zero")
"""What of random functions may be refused: numpy's other types, and constants divided by zero."""


def compare(text: str, folder: Path, seeds: range, domain: Domain = ANY) -> Counter[str]:
    """Ask both; the number of answers, of errors that are Python's, and of integers that are too large."""
    function, library = compiled(text, folder, domain)
    decide, seen = interpreted(text), Counter[str]()
    for seed in seeds:
        given = values(seed)
        python, ours = ask_python(decide, given, domain), ask_compiled(function, library, given)
        if isinstance(ours, str) and any(limit in ours for limit in LIMITS):
            seen["limit"] += 1
        elif isinstance(python, str) and isinstance(ours, str):
            wanted = "return the decision itself" if python == "AdviceError" else python
            assert wanted in ours, f"{text}\n{seed}: {python}"
            seen["error"] += 1
        else:
            assert python == ours or (python != python and ours != ours), f"{text}\n{seed}: {python} {ours}"
            seen["answer"] += 1
    library.close()
    return seen


def test_random_functions(tmp_path: Path) -> None:
    seen, refused, count = Counter[str](), 0, 60
    for seed in range(count):
        text = Writer(seed).function("decide")
        try:
            seen += compare(text, tmp_path, range(seed * OBSERVATIONS, (seed + 1) * OBSERVATIONS))
        except PolicyError as error:
            if not REFUSED.search(str(error)):
                raise
            refused += 1
    assert seen["answer"] > count * OBSERVATIONS / 2
    assert seen["error"] > count
    assert seen["limit"] < seen["answer"] / 20
    assert refused < count / 2


@pytest.mark.soak
def test_many_random_functions(tmp_path: Path) -> None:
    for seed in range(1000, 3000):
        try:
            compare(Writer(seed).function("decide"), tmp_path, range(seed * 40, seed * 40 + 40))
        except PolicyError as error:
            if not REFUSED.search(str(error)):
                raise


ROUNDING = """\
def decide(obs):
    a, d, f = obs["a"].item(), obs["d"].item(), obs["f"].item()
    q = obs["b"].item()
    if obs["which"] == 0:
        return a // 7 + a % 7 - a // -7 + a % -7
    if obs["which"] == 1:
        return d // 0.3 + d % -0.3 if d == d else -1
    if obs["which"] == -1:
        return f % 5e-324 + d % 1e308
    if obs["which"] == 2:
        return (a < d) + 2 * (a <= d) + 4 * (a == d) + 8 * (a > d) + 16 * (a >= d) + 32 * (a != d)
    if obs["which"] == 3:
        return (obs["d"] // obs["f"]) + (obs["f"] % obs["w"][0][1])
    if obs["which"] == -3:
        return obs["a"] // obs["b"] + obs["a"] % obs["b"] * 3 + (obs["a"] - obs["b"]) * obs["a"]
    if obs["which"] == 7:
        return obs["a"] / obs["b"] + obs["w"][0][0] * 0.1 - obs["f"] * obs["a"]
    if obs["which"] == 50:
        x = obs["d"] - obs["w"][0][1]
        return (x in (1, x)) + 2 * (d in (a, d)) + 4 * (obs["d"] in (1, obs["d"])) + 8 * (d in (1, d + 0))
    if q and a:
        return a / q + abs(-a) + (True + True)
    return int(f) if abs(f) < 1e9 else 0
"""


def test_division_and_exact_comparisons(tmp_path: Path) -> None:
    seen = compare(ROUNDING, tmp_path, range(1500))
    assert seen["answer"] > 1000


ANSWERS = """\
def decide(obs):
    if obs["a"] == 0:
        return True
    if obs["a"] == 1:
        return obs["d"]
    if obs["a"] == 2:
        return obs["b"]
    if obs["a"] == 3:
        return (obs["b"] + 1) > 2
    if obs["a"] == 7:
        return 2.0
    if obs["a"] == -1:
        return obs["v"][0][0] < 3
    return 1
"""


@pytest.mark.parametrize("domain", [Flag(), Choice(4), ANY], ids=["flag", "choice", "number"])
def test_the_type_of_the_answer(domain: Domain, tmp_path: Path) -> None:
    """What the point does not take as a type is an error of the run; the runner checks the range."""
    function, library = compiled(ANSWERS, tmp_path, domain)
    decide, kinds = interpreted(ANSWERS), Counter[str]()
    for seed in range(300):
        given = values(seed)
        python, ours = ask_python(decide, given, domain), ask_compiled(function, library, given)
        if isinstance(ours, str):
            assert python == "AdviceError"
            assert "return the decision itself" in ours
        elif isinstance(python, str):
            assert given["a"].item() == 2, "the runner checks the range"
        else:
            assert python == ours or python != python
        kinds[type(ours).__name__] += 1
    assert min(kinds.values()) > 20
    library.close()
