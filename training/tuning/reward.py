# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a search makes small, by the text of `passpilot tune --reward`: one measure, or a weighted sum."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from passpilot.plugin.errors import UsageError
from passpilot.plugin.failures import did_you_mean
from passpilot.training.rewards import FILE_SIZES, SIZE_HEADS
from passpilot.training.tuning.parts import PARTS
from passpilot.training.tuning.sizes import (
    ALLOCATED,
    SizeMeasure,
    SizeOf,
    Sizes,
    estimated_sizes,
    object_sizes,
    scoped,
    summed,
)
from passpilot.training.tuning.unit import Compiled, Unit

MEASURES: Final[Mapping[str, SizeMeasure]] = {"object": object_sizes, "estimate": estimated_sizes}
"""Those that need the objects alone."""

SIZE: Final = ALLOCATED
"""What is made small by default."""

NAMES: Final = (*FILE_SIZES, *MEASURES, *PARTS)
"""Those of a linked program or of a module's object, of all objects, and of functions."""

RUN: Final = "run"
"""The time of a run of the program."""

EXECUTED: Final = "executed"
"""The instructions that a run of the program executes."""

PROGRAM: Final = "{}"
"""The executable, in the command of a run."""

_TERM: Final = re.compile(r"(?:(\d+(?:\.\d+)?)\*)?([a-z-]+)")
_LIMIT: Final = re.compile(r"([a-z-]+):(\d+(?:\.\d+)?)")
_RUN_LIMIT: Final = re.compile(rf"{EXECUTED}:(\d+(?:\.\d+)?)(?::(.*))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class RewardText:
    """A parsed `--reward` and `--at-most`."""

    text: str
    terms: Sequence[tuple[float, str]] = ()
    limits: Sequence[tuple[str, float]] = ()
    run: tuple[str, ...] | None = None
    """The command of the run whose time counts; empty for the program's recorded runs, None for no run."""
    executed: bool = False
    """Whether the instructions of the run count, not its time."""
    run_limits: Sequence[tuple[tuple[str, ...], float]] = ()
    """Commands of runs, as in `run`, and how much their instructions may grow."""

    @classmethod
    def parse(cls, text: str, limits: Sequence[str] = ()) -> RewardText:
        """Parse ``text``, ``0.8*allocated+0.2*mca``, ``run: {} FILE``, and limits such as ``mca:1.01``.

        ``executed: {} FILE`` counts instructions; ``executed:1.02: {} FILE`` limits them.

        Raises:
            UsageError: the text is wrong.
        """
        if (name := text.partition(":")[0].strip()) in (RUN, EXECUTED):
            if limits:
                raise UsageError(
                    f"tune: --at-most: expected no limit beside --reward={RUN}, got {limits[0]!r}"
                )
            command = run_command("--reward", text.partition(":")[2])
            return cls(text, run=command, executed=name == EXECUTED)
        terms = []
        for part in text.replace(" ", "").split("+"):
            found = _TERM.fullmatch(part)
            if not found or found[2] not in NAMES:
                known = f"{', '.join(NAMES)}, {RUN}: COMMAND, or a sum such as 0.8*allocated+0.2*mca"
                hint = did_you_mean(found[2] if found else part, NAMES)
                raise UsageError(f"tune: --reward: expected {known}, got {part!r}{hint}")
            terms.append((float(found[1] or 1), found[2]))
        bounds, runs = [], []
        for limit in limits:
            if found := _RUN_LIMIT.fullmatch(limit):
                runs.append((run_command("--at-most", found[2] or ""), float(found[1])))
                continue
            found = _LIMIT.fullmatch(limit)
            if not found or found[1] not in NAMES:
                hint = _name_hint(limit.partition(":")[0])
                raise UsageError(
                    f"tune: --at-most: expected NAME:RATIO such as mca:1.01, got {limit!r}{hint}"
                )
            bounds.append((found[1], float(found[2])))
        return cls(text, terms, bounds, run_limits=runs)

    def change(self, start: float, best: float) -> str:
        """The text of a change."""
        if self.run is not None:
            return f"{'instructions' if self.executed else 'run time'} {start:.0f} -> {best:.3f}"
        if len(self.terms) == 1 and (name := self.terms[0][1]) not in PARTS:
            return f"{SIZE_HEADS.get(name, name)} {start:.0f} -> {best:.0f} bytes"
        return f"{self.text} {start:.6g} -> {best:.6g}"

    @property
    def parts(self) -> tuple[str, ...]:
        """The names of `PARTS` that units must measure."""
        names = [name for _, name in self.terms] + [name for name, _ in self.limits]
        return tuple(dict.fromkeys(name for name in names if name in PARTS))

    def measure(self, units: Sequence[Unit], size: SizeOf) -> SizeMeasure:
        """The measure of units; `size` measures one of `FILE_SIZES`."""

        def find(name: str) -> SizeMeasure:
            if name in PARTS:
                return PartSums(name, units)
            return MEASURES.get(name) or partial(_one_size, size, name)

        measure = find(self.terms[0][1])
        if len(self.terms) > 1:
            measure = WeightedSum([(weight, find(name)) for weight, name in self.terms])
        for name, ratio in self.limits:
            measure = Limited(measure, find(name), ratio)
        return measure


def _name_hint(name: str) -> str:
    """The names that may have limits, if a name is none of them."""
    known = (*NAMES, EXECUTED)
    return f"; NAME is one of {', '.join(known)}{did_you_mean(name, known)}" if name not in known else ""


def _one_size(size: SizeOf, kind: str, units: Sequence[Compiled], /) -> Sizes:
    return size(units, kind)


def run_command(option: str, command: str) -> tuple[str, ...]:
    """The words of a command that begins with `PROGRAM`; none if the text is empty.

    Raises:
        UsageError: the command does not begin with the program.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"tune: {option}: expected a command, got {command!r}: {error}") from error
    if words and words[0] != PROGRAM:
        raise UsageError(
            f"tune: {option}: expected {PROGRAM} and the program's arguments, got {command.strip()!r}"
        )
    return tuple(words)


@dataclass
class PartSums:
    """The sum over functions of one of `PARTS`."""

    name: str
    units: Sequence[Unit]
    _visible: list[frozenset[str]] = field(init=False)

    def __post_init__(self) -> None:
        self._visible = [unit.visible for unit in self.units]

    def __call__(self, units: Sequence[Compiled], /) -> Sizes:
        parts = [unit.parts[self.name] for unit in units]
        rows = (
            (number, scoped(number, name, local=name not in self._visible[number]), value)
            for number, values in enumerate(parts)
            for name, value in values.items()
        )
        return summed(rows, [sum(values.values()) for values in parts])


@dataclass
class WeightedSum:
    """Measures with weights, in millionths of what they were at the start."""

    terms: Sequence[tuple[float, SizeMeasure]]
    _scales: list[float] = field(init=False, default_factory=list)

    def __call__(self, units: Sequence[Compiled], /) -> Sizes:
        terms = [measure(units) for _, measure in self.terms]
        if not self._scales:
            weights = sum(weight for weight, _ in self.terms)
            self._scales = [
                1e6 * weight / weights / (sizes.total or 1)
                for (weight, _), sizes in zip(self.terms, terms, strict=True)
            ]
        scaled = list(zip(self._scales, terms, strict=True))
        rows = (
            (sizes.owners[name], name, scale * value)
            for scale, sizes in scaled
            for name, value in sizes.functions.items()
        )
        objects = [sum(scale * sizes.objects[at] for scale, sizes in scaled) for at in range(len(units))]
        return summed(rows, objects, sum(scale * sizes.total for scale, sizes in scaled))


@dataclass
class Limited:
    """A measure that is infinite where another one grows above `ratio` of what it was at the start."""

    measure: SizeMeasure
    other: SizeMeasure
    ratio: float
    _most: float | None = field(init=False, default=None)

    def __call__(self, units: Sequence[Compiled], /) -> Sizes:
        sizes, other = self.measure(units), self.other(units).total
        if self._most is None:
            self._most = other * self.ratio
        return sizes._replace(total=math.inf) if other > self._most else sizes
