# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decision functions for tests: compiled and loaded, asked in the interpreter, and written at random."""

from __future__ import annotations

import math
import random
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, cast

import numpy as np
from numpy.typing import NDArray

from passpilot.features.domain import Domain, Number
from passpilot.features.point import Point
from passpilot.features.spec import TensorSpec
from passpilot.runners.aot.build import Processor, compile_graph, link, object_of
from passpilot.runners.aot.function.program import Function
from passpilot.runners.aot.function.source import PolicySource
from passpilot.runners.base import Tensor
from passpilot.runners.python import Observation
from passpilot.runners.scalar import ScalarTensor
from tests.runners.aot.library import Library

FEATURES: Final = (
    TensorSpec("which", "int64", (1,)),
    TensorSpec("a", "int64", (1,)),
    TensorSpec("b", "int64", (1,)),
    TensorSpec("f", "float32", (1,)),
    TensorSpec("d", "float64", (1,)),
    TensorSpec("v", "int64", (1, 3)),
    TensorSpec("w", "float32", (1, 3)),
    TensorSpec("small", "int32", (1,)),
    TensorSpec("mask", "int64", (4,)),
    TensorSpec("the_default", "int64", (1,)),
)
ANY: Final = Number(-math.inf, math.inf)
Values = Mapping[str, NDArray[np.generic]]


def point(domain: Domain = ANY) -> Point:
    """A decision point with features of all types."""
    return Point("a-point", FEATURES, TensorSpec("answer", "float64", (1,)), FEATURES[-1], domain)


def compiled(text: str, folder: Path, domain: Domain = ANY, name: str = "decide") -> tuple[Function, Library]:
    """Compile a function and load it."""
    number = len(list(folder.iterdir()))
    source, target = folder / f"policy{number}.py", folder / f"policy{number}.so"
    source.write_text(text)
    processor = Processor.find("generic")
    function = Function(PolicySource(str(source)), name, point(domain))
    target.write_bytes(link(object_of(compile_graph(function, processor), processor)))
    return function, Library(target)


def interpreted(text: str) -> Callable[[Observation], object]:
    """The function, run by Python."""
    names: dict[str, Callable[[Observation], object]] = {}
    exec(compile(text, "policy.py", "exec"), names)
    return names["decide"]


def observation(values: Values, domain: Domain) -> Observation:
    tensors: dict[str, Tensor] = {
        name: cast("Tensor", array.copy().view(ScalarTensor) if array.size == 1 else array)
        for name, array in values.items()
    }
    return Observation(tensors, point=point(domain))


def ask_python(decide: Callable[[Observation], object], values: Values, domain: Domain) -> float | str:
    """The answer, or the name of the exception."""
    with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
        try:
            answer = decide(observation(values, domain))
            number: object = getattr(answer, "item", lambda: answer)()
            if isinstance(domain, Number) and isinstance(number, float):
                return number  # NaN is refused by the point, not by the function
            return float(domain.accept(answer))
        except Exception as error:  # noqa: BLE001  (of any kind)
            return type(error).__name__


def ask_compiled(function: Function, library: Library, values: Values) -> float | str:
    """The answer, or the text of the failure."""
    status, found = library.status({tensor.name: values[tensor.name] for tensor in function.inputs})
    return float(found["answer"][0]) if status == 0 else function.failures[status - 2]


class Writer:
    """Writes functions at random, from a seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.names: list[str] = []

    def function(self, name: str) -> str:
        """A function of some statements."""
        self.names = ["1"]
        lines = [f"def {name}(obs):", f"    x = {self.number(2)}", f"    y = {self.number(2)}"]
        self.names = ["x", "y"]
        for _ in range(self.random.randrange(3)):
            lines += self.statement("    ", 2)
        return "\n".join([*lines, f"    return 0 + {self.number(3)}", ""])

    def statement(self, indent: str, depth: int) -> list[str]:
        pick = self.random.random()
        if depth and pick < 0.4:
            body = self.statement(indent + "    ", depth - 1)
            other = self.statement(indent + "    ", depth - 1) if self.random.random() < 0.6 else []
            lines = [f"{indent}if {self.truth(2)}:", *body]
            return [*lines, f"{indent}else:", *other] if other else lines
        if depth and pick < 0.5:
            body = self.statement(indent + "    ", depth - 1)
            leave = self.random.choice(["break", "continue", "pass"])
            head = f"{indent}for i in {self.random.choice(['range(3)', '(1, 2.5, True)'])}:"
            return [
                head,
                *body,
                f"{indent}    if {self.truth(1)}:",
                f"{indent}        {leave}",
                f"{indent}    y = x + i",
            ]
        if pick < 0.6:
            return [f"{indent}return {self.number(2)} + {self.number(1)}"]
        return [f"{indent}{self.random.choice(self.names)} = {self.number(3)}"]

    def leaf(self) -> str:
        choice = self.random.choice
        numbers = ["0", "1", "2", "-3", "7", "0.5", "-1.5", "0.1", "1e3", "3.0", "True", "False", str(2**40)]
        tensors = ["a", "b", "f", "d"]
        leaves: list[Callable[[], str]] = [
            lambda: choice(numbers),
            lambda: choice(self.names),
            lambda: f'obs["{choice(tensors)}"]',
            lambda: f'obs["{choice(tensors)}"].item()',
            lambda: f'obs["{choice("vw")}"][0][{choice([0, 1, 2, -1])}]',
            lambda: f'obs["{choice("vw")}"][0, {choice([0, 1, 2])}].item()',
            lambda: 'obs["small"].item()',
            lambda: "obs.default()",
        ]
        return choice(leaves)()

    def number(self, depth: int) -> str:
        if depth == 0 or self.random.random() < 0.15:
            return self.leaf()
        choice = self.random.choice

        def one() -> str:
            return self.number(depth - 1)

        forms = [
            lambda: f"({one()} {choice(['+', '-', '*', '/', '//', '%'])} {one()})",
            lambda: f"({one()} {choice(['+', '-', '*', '/', '//', '%'])} {one()})",
            lambda: f"({one()} {choice(['+', '-', '*'])} {one()})",
            lambda: f"({one()} if {self.truth(depth - 1)} else {one()})",
            lambda: f"{choice(['min', 'max'])}({one()}, {one()})",
            lambda: f"({one()} {choice(['and', 'or'])} {one()})",
            lambda: f"{choice(['-', 'abs', 'bool', '+'])}({one()})",
            lambda: f"{choice(['int', 'float'])}({one()})",
            lambda: f"({self.truth(depth - 1)} {choice('&|^')} {self.truth(depth - 1)})",
            lambda: self.truth(depth),
        ]
        return choice(forms)()

    def truth(self, depth: int) -> str:
        choice = self.random.choice

        def one() -> str:
            return self.number(max(depth - 1, 0))

        sign = ["<", "<=", ">", ">=", "==", "!="]
        forms = [
            lambda: f"({one()} {choice(sign)} {one()})",
            lambda: f"({one()} {choice(sign)} {one()} {choice(sign)} {one()})",
            lambda: f"(not {one()})",
            lambda: f'(obs["small"] {choice(sign)} {one()})',
            lambda: f"({one()} {choice(['in', 'not in'])} (1, 2.5, {one()}))",
        ]
        return choice(forms)()


def values(seed: int) -> dict[str, NDArray[np.generic]]:
    """Features at random: often small and equal, sometimes extreme."""
    random_ = random.Random(seed)

    def integer(low: int = -(1 << 63), high: int = (1 << 63) - 1) -> int:
        few = (0, 1, -1, 2, 3, -3, 7, 50)
        wide = (low, high, (1 << 53) + 1, random_.randrange(-(1 << 40), 1 << 40))
        return max(low, min(high, random_.choice(few if random_.random() < 0.85 else wide)))

    def real() -> float:
        few = (0.0, -0.0, 1.0, 0.1, -1.5, 2.5, 7.0, random_.uniform(-9, 9))
        wide = (1e30, 1e-30, math.inf, -math.inf, math.nan, 2.0**63, 5e-39)
        return random_.choice(few if random_.random() < 0.85 else wide)

    made: dict[str, NDArray[np.generic]] = {}
    for spec in FEATURES:
        low, high = (-(1 << 31), (1 << 31) - 1) if spec.dtype == "int32" else (-(1 << 63), (1 << 63) - 1)
        row = [real() if spec.dtype.startswith("float") else integer(low, high) for _ in range(spec.size)]
        with np.errstate(all="ignore"):
            made[spec.name] = np.array(row, spec.dtype).reshape(spec.shape)
    return made
