# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles a module with several contenders and measures each: size, decisions, agreement with LLVM, time.

A contender compiles a module once with a decision log, which gives everything but the time, and then as often
as wanted without a log, for the time.
"""

from __future__ import annotations

import time
import warnings
from contextlib import contextmanager
from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING, Final, NamedTuple

from passpilot.features.catalogue import emit_points
from passpilot.features.log.reader import read_log
from passpilot.features.point import find_point
from passpilot.passes.emit import generate
from passpilot.passes.optimize import optimize
from passpilot.plugin import _core
from passpilot.plugin.compile import file_type
from passpilot.plugin.errors import Error, PasspilotWarning, restated
from passpilot.plugin.module import Module
from passpilot.training.rewards import code_size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from passpilot.passes.advisor import Advisor

    MakeAdvisors = Callable[[Mapping[str, str]], Sequence[Advisor]]
    """Makes the advisors of one compilation; gets the paths of the logs to write, by point."""


OPT_LEVEL: Final = 2
"""The level of code generation, llc's default."""


@dataclass(frozen=True, slots=True)
class Contender:
    """One way to decide: LLVM's own, or a runner at a decision point."""

    name: str
    points: tuple[str, ...]
    """The points whose decisions count."""
    make: MakeAdvisors


@dataclass(frozen=True, slots=True)
class Measured:
    """What a contender makes of one module, or of several together."""

    text: int
    """The bytes of machine code: the executable sections of the object file."""
    instructions: int
    """The instructions of LLVM IR after the pipeline."""
    decisions: int
    agreed: int
    """Decisions that LLVM's default would have taken in the same situation."""
    seconds: float | None
    """The time of the pipeline and of code generation; None if it was not taken."""
    logs: Mapping[str, str]
    """The paths of the decision logs, by point."""


@dataclass(frozen=True, slots=True)
class Compared:
    """What all contenders make of one module."""

    source: str
    triple: str
    """The target triple of the compilation."""
    rows: tuple[Measured, ...]
    """One for each contender, in their order."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """How modules are compiled; LLVM's own options apply, too."""

    pipeline: str
    repeat: int
    """How many compilations are timed; 0 takes no time."""


def compare_on(
    source: str,
    contenders: Sequence[Contender],
    recipe: Recipe,
    logs: Sequence[Mapping[str, str]],
    step: Callable[[], None],
) -> Compared:
    """Compile the module at the path `source` with all contenders.

    `logs` are the paths of the logs to write, by point, for each contender. `step` is called after each
    compilation.

    Raises:
        Error: the module cannot be read or compiled, or a contender fails; names both.
    """
    made: list[Measured] = []
    triple = ""
    for contender, paths in zip(contenders, logs, strict=True):
        with _named(source, contender):
            once = _compiled(source, contender, recipe, paths)
            made.append(Measured(once.text, once.instructions, *_decisions(paths), None, paths))
        triple = once.triple
        step()
    times: list[list[float]] = [[] for _ in contenders]
    for _ in range(recipe.repeat):  # in turns, so that all meet the same load of the machine
        for contender, taken in zip(contenders, times, strict=True):
            with _named(source, contender), warnings.catch_warnings():
                warnings.simplefilter("ignore", PasspilotWarning)  # the logged compilation has given them
                taken.append(_compiled(source, contender, recipe, {}).seconds)
            step()
    rows = (
        replace(each, seconds=median(taken)) if taken else each
        for each, taken in zip(made, times, strict=True)
    )
    return Compared(source, triple, tuple(rows))


def total(rows: Sequence[Measured]) -> Measured:
    """The sums over several modules."""
    seconds = [row.seconds for row in rows if row.seconds is not None]
    return Measured(
        sum(row.text for row in rows),
        sum(row.instructions for row in rows),
        sum(row.decisions for row in rows),
        sum(row.agreed for row in rows),
        sum(seconds) if len(seconds) == len(rows) else None,
        {},
    )


@contextmanager
def _named(source: str, contender: Contender) -> Iterator[None]:
    """Say in errors of the block which module and which contender they are about."""
    try:
        yield
    except Error as error:
        raise restated(error, f"{source} with {contender.name}: {error}") from error


class _Attempt(NamedTuple):
    text: int
    instructions: int
    seconds: float
    triple: str


def _compiled(source: str, contender: Contender, recipe: Recipe, logs: Mapping[str, str]) -> _Attempt:
    module = Module.read(source)
    wanted = _core.EmitOptions()
    wanted.filetype, wanted.opt_level = file_type("obj"), OPT_LEVEL
    advisors = contender.make(logs)
    try:
        late = [advisor for advisor in advisors if _emits(advisor.point)]
        started = time.perf_counter()
        optimize(module, recipe.pipeline, [advisor for advisor in advisors if advisor not in late])
        seconds = time.perf_counter() - started
        instructions = sum(function.instruction_count for function in module.functions)
        started = time.perf_counter()
        emitted = generate(module, wanted, late)
        seconds += time.perf_counter() - started
    finally:
        for advisor in advisors:
            advisor.close()
    return _Attempt(int(code_size(emitted)), instructions, seconds, module.triple)


def _emits(point: str) -> bool:
    return point in emit_points()


def _decisions(logs: Mapping[str, str]) -> tuple[int, int]:
    """The decisions in the logs, and those that agree with LLVM's default."""
    decisions = agreed = 0
    for name, path in logs.items():
        point = find_point(name)
        default, advice = read_log(path).to_arrays([point.default.name, point.advice.name]).values()
        decisions += len(advice)
        agreed += int((default == advice).sum())
    return decisions, agreed
