# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles a module with several contenders and measures each: size, decisions, agreement with LLVM, time.

A contender compiles a module once with a decision log, which gives everything but the time, and then as often
as wanted without a log, for the time.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, fields, replace
from statistics import median
from typing import TYPE_CHECKING, Final

from passpilot.features.catalogue import emit_points
from passpilot.passes.emit import generate
from passpilot.passes.optimize import optimize
from passpilot.plugin import _core
from passpilot.plugin.compile import file_type
from passpilot.plugin.errors import Error, PasspilotWarning, restated
from passpilot.plugin.module import Module
from passpilot.training.evaluation.program import decision_counts
from passpilot.training.rewards import FILE_SIZES, SIZE_HEADS

if TYPE_CHECKING:
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

    allocated: int
    """The bytes of the object file that are loaded."""
    text: int
    """Those of machine code."""
    file: int
    """The size of the object file."""
    xz: int
    """That file, compressed."""
    instructions: int
    """The instructions of LLVM IR after the pipeline."""
    decisions: int
    agreed: int
    """Decisions that LLVM's default would have taken in the same situation."""
    seconds: float | None
    """The time of the pipeline and of code generation; None if it was not taken."""
    logs: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Compared:
    """What all contenders make of one module."""

    source: str
    triple: str
    rows: tuple[Measured, ...]
    """One for each contender, in their order."""


def compare_on(
    source: str,
    contenders: Sequence[Contender],
    pipeline: str,
    repeat: int,
    logs: Sequence[Mapping[str, str]],
    step: Callable[[], None],
) -> Compared:
    """Compile the module at the path `source` with all contenders; LLVM's own options apply, too.

    Args:
        source: a .ll or .bc file.
        contenders: the ways to decide.
        pipeline: pipeline text.
        repeat: how many compilations are timed; 0 takes no time.
        logs: the paths of the logs to write, by point, for each contender.
        step: called after each compilation.

    Raises:
        Error: the module cannot be read or compiled, or a contender fails; names both.
    """
    rows: list[Measured] = []
    triple = ""
    for contender, paths in zip(contenders, logs, strict=True):
        with _named(source, contender):
            code, instructions, _, triple = _compiled(source, contender, pipeline, paths)
            allocated, text, file, xz = (FILE_SIZES[kind](code) for kind in SIZE_HEADS)
            counts = [decision_counts(path) for path in paths.values()]
        decisions, agreed = (sum(column) for column in zip(*counts, strict=True)) if counts else (0, 0)
        rows.append(Measured(allocated, text, file, xz, instructions, decisions, agreed, None, paths))
        step()
    times: list[list[float]] = [[] for _ in contenders]
    for _ in range(repeat):  # in turns, so that all meet the same load of the machine
        for contender, taken in zip(contenders, times, strict=True):
            with _named(source, contender), warnings.catch_warnings():
                warnings.simplefilter("ignore", PasspilotWarning)  # the logged compilation has given them
                taken.append(_compiled(source, contender, pipeline, {})[2])
            step()
    if repeat:
        rows = [replace(row, seconds=median(taken)) for row, taken in zip(rows, times, strict=True)]
    return Compared(source, triple, tuple(rows))


def total(rows: Sequence[Measured]) -> Measured:
    seconds = [row.seconds for row in rows if row.seconds is not None]
    names = (field.name for field in fields(Measured) if field.name not in ("seconds", "logs"))
    whole = sum(seconds) if len(seconds) == len(rows) else None
    return Measured(
        **{name: sum(getattr(row, name) for row in rows) for name in names}, seconds=whole, logs={}
    )


@contextmanager
def _named(source: str, contender: Contender) -> Iterator[None]:
    """Say in errors of the block which module and which contender they are about."""
    try:
        yield
    except Error as error:
        raise restated(error, f"{source} with {contender.name}: {error}") from error


def _compiled(
    source: str, contender: Contender, pipeline: str, logs: Mapping[str, str]
) -> tuple[bytes, int, float, str]:
    """The object, the instructions of IR, the seconds, and the triple."""
    module = Module.read(source)
    wanted = _core.EmitOptions()
    wanted.filetype, wanted.opt_level = file_type("obj"), OPT_LEVEL
    with ExitStack() as stack:
        advisors = [stack.enter_context(closing(advisor)) for advisor in contender.make(logs)]
        late = [advisor for advisor in advisors if advisor.point in emit_points()]
        started = time.perf_counter()
        optimize(module, pipeline, [advisor for advisor in advisors if advisor not in late])
        seconds = time.perf_counter() - started
        instructions = sum(function.instruction_count for function in module.functions)
        started = time.perf_counter()
        emitted = generate(module, wanted, late)
        seconds += time.perf_counter() - started
    return emitted.code, instructions, seconds, module.triple
