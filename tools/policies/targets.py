# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `@oz` adds for targets other than x86-64: levers that make the objects of C programs smaller.

They are tried one after the other, on top of the policy's options for all targets and of those taken before.
One is taken if it saves loaded bytes of the objects and a link of them is not larger.
`bench.measure.policies.targets` measures whole programs that were not chosen on.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import geometric_mean
from typing import Final, NamedTuple, TypeAlias

from bench.lib.targets import TARGETS, Sizes, front_end, optimized, sizes, unpacked
from passpilot.training.tuning.recipes import SMALLEST

RECORD: Final = "target_levers.json"
PROGRAMS: Final = ("lua", "zlib", "lz4", "mujs", "cmark-gfm", "bzip2", "md4c", "picosat")
"""Training programs in C."""
UNITS: Final = 4
"""Of each program, large and small ones."""
LEAST: Final = 0.0005
"""What a lever must save."""
LARGEST: Final = 1.001
"""What a link of the objects may grow by: an object counts entries of `.ARM.exidx` that a link merges."""

SPLIT: Final = "split-spill-mode=size"
SINKING: Final = "machine-sink-split=0"
NO_TAILS: Final = "disable-tail-duplicate"
IN_ORDER: Final = "pre-RA-sched=source"
UNSCHEDULED: Final = "enable-misched=0"
NO_STRENGTH: Final = "disable-lsr"
EARLY: Final = "enable-shrink-wrap=0"
JOINED: Final = "join-splitedges"
HOISTED: Final = "disable-machine-licm=0"
COPIES: Final = "join-globalcopies"
IFS: Final = "write-wasm-ifs"


def _tables(*densities: int) -> list[str]:
    return [f"optsize-jump-table-density={density}" for density in densities]


def _outlining(*least: int) -> list[str]:
    return [f"outliner-benefit-threshold={each}" for each in least]


THUMB: Final = (SPLIT, NO_STRENGTH, IN_ORDER, *_outlining(4, 8), SINKING, NO_TAILS, *_tables(70), EARLY)
RISCV: Final = (SPLIT, UNSCHEDULED, *_tables(60, 90), NO_STRENGTH, "riscv-disable-cost-per-use")
LEVERS: Final[Mapping[str, Sequence[str]]] = {
    "Thumb-2": THUMB,
    "RV32IMC": RISCV,
    "AArch64": (UNSCHEDULED, *_outlining(16, 32)),
    "wasm32": (IFS, NO_STRENGTH, JOINED, COPIES, HOISTED, NO_TAILS, IN_ORDER, *_tables(80)),
    "RV64GC": (*RISCV, HOISTED, *_outlining(16)),
}
"""What is tried for a target, in this order."""

Record: TypeAlias = dict[str, dict[str, dict[str, Sequence[int]]]]
"""The sizes by target, program and options."""


HEADS: Final = ("allocated", "xz", "linked", "largest")


class Step(NamedTuple):
    """A lever that was tried, and the means relative to the objects without it."""

    lever: str
    allocated: float
    xz: float
    linked: float
    largest: float
    """Of a program's units, relative to -Oz."""
    taken: bool


def with_option(options: Sequence[str], option: str) -> tuple[str, ...]:
    """The options and one more, in place of one with the same name."""
    name = option.partition("=")[0]
    return (*(each for each in options if each.partition("=")[0] != name), option)


class Measure:
    """The sizes of programs for a target, by options; it remembers them in a record."""

    def __init__(
        self, target: str, programs: Sequence[str], record: Record, keep: Callable[[], object]
    ) -> None:
        self._target, self._keep = TARGETS[target], keep
        self._programs = unpacked(programs)
        self._known = record.setdefault(target, {})
        self._modules: dict[tuple[str, str], list[bytes]] = {}

    def __call__(self, options: Sequence[str] | None) -> dict[str, Sizes]:
        """By program, with the policy's pipeline; without options, those of plain -Oz."""
        key = "-Oz" if options is None else " ".join(options)
        pipeline = "" if options is None else SMALLEST
        found = {}
        for program in self._programs:
            known = self._known.setdefault(program.name, {})
            if key not in known:
                (known[key],) = sizes(self._target, self._optimized(program.name, pipeline), [options or ()])
                self._keep()
            found[program.name] = Sizes(*known[key])
        return found

    def _optimized(self, name: str, pipeline: str) -> list[bytes]:
        if (name, pipeline) not in self._modules:
            if (name, "front end") not in self._modules:
                (program,) = (each for each in self._programs if each.name == name)
                with tempfile.TemporaryDirectory() as folder:
                    self._modules[name, "front end"] = front_end(program, self._target, Path(folder), UNITS)
            self._modules[name, pipeline] = optimized(self._modules[name, "front end"], pipeline)
        return self._modules[name, pipeline]


def choose(
    start: Sequence[str],
    levers: Sequence[str],
    measure: Callable[[Sequence[str] | None], Mapping[str, Sizes]],
) -> tuple[list[str], list[Step]]:
    """The levers that are taken for a target, and all steps."""
    plain, now = measure(None), measure(start)
    taken: list[str] = []
    steps = [_step("the options for all targets", plain, now, plain, least=0)]
    for lever in levers:
        tried = measure([*start, *with_option(taken, lever)])
        step = _step(lever, now, tried, plain, LEAST)
        steps.append(step)
        if step.taken:
            taken, now = list(with_option(taken, lever)), tried
    steps.append(_step("all that is taken, against -Oz", plain, now, plain, least=0))
    return taken, steps


def _step(
    lever: str,
    before: Mapping[str, Sizes],
    now: Mapping[str, Sizes],
    plain: Mapping[str, Sizes],
    least: float,
) -> Step:
    def mean(size: str) -> float:
        return geometric_mean(getattr(now[name], size) / getattr(before[name], size) for name in now)

    largest = max(now[name].allocated / plain[name].allocated for name in plain)
    taken = mean("allocated") <= 1 - least and mean("linked") <= LARGEST
    step = Step(lever, mean("allocated"), mean("xz"), mean("linked"), largest, taken)
    print(f"  {lever:40} {step.allocated:.4f} {step.xz:.4f} {step.linked:.4f} {'taken' * taken}", flush=True)
    return step


def card(steps: Mapping[str, Sequence[Step]]) -> str:
    """What the card says: every lever on top of those taken before, by target."""
    text = ""
    for target, rows in steps.items():
        text += f"\n### {target}\n\n| lever | {' | '.join(HEADS)} | taken |\n|{'---|' * (len(HEADS) + 2)}\n"
        for row in rows:
            cells = " | ".join(f"{getattr(row, head):.4f}" for head in HEADS)
            text += f"| {row.lever} | {cells} | {'yes' * row.taken} |\n"
    return text
