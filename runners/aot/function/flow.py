# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Flow`: the variables of a function and its branches, as IR in SSA form.

Everything that the text alone determines stays a Python object: constants, the observation, features. A
`Quantity` is a number that is known only at run time. Its kind may differ from path to path, as of
``1 if c else 0.5``: then it has a register for every kind, and a tag that says which one holds.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from llvmlite import ir

from passpilot.plugin.errors import PolicyError
from passpilot.plugin.failures import printable
from passpilot.runners.aot.emitter import I32, I64

DOUBLE: Final = ir.DoubleType()
REAL: Final[dict[str, ir.Type]] = {"float32": ir.FloatType(), "float64": DOUBLE}
FIRST_STATUS: Final = 2
"""The status of the first failure; 1 is that of a graph's index out of range."""
_MOST_STEPS: Final = 100_000
"""A bound for unrolled loops and calls, which may nest."""


@dataclass(frozen=True, slots=True)
class Kind:
    """What a number is: its form, and its scalar type by numpy's name.

    The forms are ``python``, and numpy's: ``tensor``, a feature as `obs[name]` gives it
    (passpilot/runners/scalar.py), ``array``, the result of arithmetic with one, and ``scalar``, an element.
    """

    form: str
    dtype: str

    @property
    def is_real(self) -> bool:
        return self.dtype in REAL

    @property
    def register(self) -> ir.Type:
        """Integers and bools are int64."""
        return REAL.get(self.dtype, I64)

    def __str__(self) -> str:
        name = {"int64": "int", "float64": "float"}.get(self.dtype, self.dtype)
        return name if self.form == "python" else f"{self.dtype} of numpy"


BOOL: Final = Kind("python", "bool")
INT: Final = Kind("python", "int64")
FLOAT: Final = Kind("python", "float64")
OF_CONSTANT: Final = {bool: BOOL, int: INT, float: FLOAT}


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number of run time: a register for every kind that it may have."""

    cases: Mapping[Kind, ir.Value]
    tag: ir.Value | None = None


@dataclass(frozen=True, slots=True)
class Unusable:
    """A variable that is something else on different paths, and no number on one of them."""


Operand: TypeAlias = object
"""A `Quantity`, or what is known from the text: a constant, the observation, a feature."""
Variables: TypeAlias = dict[str, Operand]
End: TypeAlias = tuple[ir.Block, Variables, Operand]
"""Where a path ends, its variables there, and what its expression gives."""


class Flow:
    """Writes branches; `env` are the variables at the builder's place."""

    def __init__(self, builder: ir.IRBuilder, path: str) -> None:
        self.builder = builder
        self.path = path
        self.env: Variables = {}
        self.dead = False
        """Whether the path has ended, by a return, a break or a continue."""
        self.node: ast.AST = ast.Pass(lineno=1)
        """The part of the text that is being compiled."""
        self.failures: list[str] = []
        """What goes wrong at run time, by the statuses from `FIRST_STATUS` on."""
        self._numbers: dict[Kind, int] = {}
        self._steps = 0

    def refused(self, expected: str, got: str, hint: str = "docs/aot.md has the table") -> PolicyError:
        """The error for a part of the text that cannot be compiled."""
        return PolicyError(printable(f"{self.path}:{self.line}: expected {expected}, got {got}; {hint}"))

    @property
    def line(self) -> int:
        return getattr(self.node, "lineno", 1)

    def step(self) -> None:
        """Count a part of the text.

        Raises:
            PolicyError: loops and calls that are written out make too many.
        """
        self._steps += 1
        if self._steps > _MOST_STEPS:
            what = f"at most {_MOST_STEPS} operations when loops and calls are written out"
            raise self.refused(what, "more", "make the loops shorter")

    def fail(self, bad: ir.Value, text: str) -> None:
        """End the run with an error if an `i1` is true."""
        text = printable(f"{os.path.basename(self.path)}:{self.line}: {text}")
        if text not in self.failures:
            self.failures.append(text)
        build = self.builder
        wrong, good = build.append_basic_block("wrong"), build.append_basic_block("good")
        build.cbranch(bad, wrong, good)
        build.position_at_end(wrong)
        build.ret(I32(self.failures.index(text) + FIRST_STATUS))
        build.position_at_end(good)

    def value(self, operand: Operand) -> Quantity:
        """A number as registers.

        Raises:
            PolicyError: it is none.
        """
        if isinstance(operand, Quantity):
            return operand
        kind = OF_CONSTANT.get(type(operand))
        if kind is None:
            raise self.refused("a number", self.describe(operand))
        if isinstance(operand, int) and not -(1 << 63) <= operand < 1 << 63:
            raise self.refused("an integer of 64 bits", "a larger one", "write a float")
        return Quantity({kind: ir.Constant(kind.register, operand if kind is FLOAT else int(operand))})  # type: ignore[call-overload]

    def describe(self, operand: Operand) -> str:
        """What an operand is, for errors."""
        if isinstance(operand, Quantity):
            return " or ".join(map(str, operand.cases))
        if isinstance(operand, Unusable):
            return "a variable that is no number on one of the ways here"
        return "None" if operand is None else f"a {type(operand).__name__}"

    def branch(
        self, condition: bool | ir.Value, yes: Callable[[], Operand], no: Callable[[], Operand]
    ) -> Operand:
        """Write both ways, and join their variables and results; only one if the condition is known."""
        if isinstance(condition, bool):
            return yes() if condition else no()
        build, before, ends = self.builder, self.env, []
        blocks = [build.append_basic_block("yes"), build.append_basic_block("no")]
        build.cbranch(condition, *blocks)
        for block, way in zip(blocks, (yes, no), strict=True):
            build.position_at_end(block)
            self.env, self.dead = dict(before), False
            result = way()
            if not self.dead:
                ends.append(self.end(result))
        return self.join(ends)

    def end(self, result: Operand = None) -> End:
        """The end of this path."""
        return self.builder.block, self.env, result

    def join(self, ends: list[End]) -> Operand:
        """Go on where paths end; without any, the path is dead. The blocks have no terminator yet."""
        self.dead = not ends
        if not ends:
            return None
        if len(ends) == 1:
            block, self.env, result = ends[0]
            self.builder.position_at_end(block)
            return result
        blocks = [block for block, _, _ in ends]
        shared = [name for name in ends[0][1] if all(name in env for _, env, _ in ends)]
        rows = [[env[name] for _, env, _ in ends] for name in shared] + [[result for _, _, result in ends]]
        rows = [self._numbers_of(blocks, row) for row in rows]
        after = self.builder.append_basic_block("after")
        for block in blocks:
            self.builder.position_at_end(block)
            self.builder.branch(after)
        self.builder.position_at_end(after)
        *merged, result = [self._merged(blocks, row) for row in rows]
        self.env = dict(zip(shared, merged, strict=True))
        return result

    def each(self, operation: Callable[..., Operand], *values: Quantity) -> Operand:
        """Write an operation of pairs (kind, register) for every combination of the values' kinds."""
        for place, value in enumerate(values):
            if value.tag is not None:
                return self._each_case(operation, values, place, list(value.cases))
        self.step()
        return operation(*(next(iter(value.cases.items())) for value in values))

    def _each_case(
        self, operation: Callable[..., Operand], values: tuple[Quantity, ...], place: int, kinds: list[Kind]
    ) -> Operand:
        value, (first, *rest) = values[place], kinds

        def one() -> Operand:
            chosen = Quantity({first: value.cases[first]})
            return self.each(operation, *values[:place], chosen, *values[place + 1 :])

        if not rest:
            return one()
        holds = self.builder.icmp_signed("==", value.tag, self._number(first))
        return self.branch(holds, one, lambda: self._each_case(operation, values, place, rest))

    def _number(self, kind: Kind) -> ir.Value:
        return I32(self._numbers.setdefault(kind, len(self._numbers)))

    def _numbers_of(self, blocks: list[ir.Block], row: list[Operand]) -> list[Operand]:
        """One variable at the ends of several paths: the same object, or numbers in registers."""
        first = row[0]
        if all(item is first or _same(item, first) for item in row):
            return [first]
        numbers: list[Operand] = []
        for block, item in zip(blocks, row, strict=True):
            self.builder.position_at_end(block)
            try:
                numbers.append(self.value(item))
            except PolicyError:
                return [Unusable()]
        return numbers

    def _merged(self, blocks: list[ir.Block], row: list[Operand]) -> Operand:
        if len(row) == 1:
            return row[0]
        values = [item for item in row if isinstance(item, Quantity)]
        kinds = list(dict.fromkeys(kind for value in values for kind in value.cases))
        cases = {
            kind: self._phi(
                blocks, [value.cases.get(kind, ir.Constant(kind.register, ir.Undefined)) for value in values]
            )
            for kind in kinds
        }
        tags = [self._number(next(iter(value.cases))) if value.tag is None else value.tag for value in values]
        return Quantity(cases, self._phi(blocks, tags) if len(kinds) > 1 else None)

    def _phi(self, blocks: list[ir.Block], registers: list[ir.Value]) -> ir.Value:
        phi = self.builder.phi(registers[0].type)
        for block, register in zip(blocks, registers, strict=True):
            phi.add_incoming(register, block)
        return phi


def _same(a: Operand, b: Operand) -> bool:
    """Whether two operands are equal constants or features; -0.0 and 0.0 are not."""
    return not isinstance(a, Quantity) and type(a) is type(b) and repr(a) == repr(b)
