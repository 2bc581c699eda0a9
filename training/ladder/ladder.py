# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Ladder`: measures the levers of a build, alone and on top of those that are taken; takes what helps."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import groupby
from typing import Final

from passpilot.plugin.errors import Error, InputError
from passpilot.plugin.files import write_file
from passpilot.plugin.json_and_toml import read_json, typed_record
from passpilot.training.file_sizes import FileSizes, file_sizes
from passpilot.training.ladder.levers import DECISIONS, LEVERS, Allowed, Lever, LeverSet
from passpilot.training.ladder.program_build import ProgramBuild
from passpilot.training.rewards import SIZE_HEADS

FORMAT: Final = "passpilot ladder 1"

SIZES: Final = dict(zip(FileSizes._fields, SIZE_HEADS.values(), strict=True))
"""The sizes of a table, the most important first, and how it calls them."""


@dataclass(frozen=True, slots=True)
class LadderSizes:
    """What a build was measured to be; sizes in bytes."""

    allocated: int
    """What is loaded."""
    text: int
    """Machine code."""
    stripped: int
    """The file without symbols."""
    xz: int
    """That file, compressed."""
    seconds: float = 0.0
    """The processor time of compiling and linking."""
    instructions: int | None = None
    """Those that the program's runs execute; None where it has no runs, or there is no valgrind."""

    def of(self, size: str) -> int:
        """One of `SIZES`."""
        return int(getattr(self, size))


@dataclass(frozen=True, slots=True)
class LadderRow:
    """One lever, as it was measured."""

    lever: str
    """Its name."""
    rung: str
    """Levers of one rung are alternatives."""
    flags: str
    """Its flags for `passpilot cc`."""
    loses: str
    """What is lost, in one clause; empty if nothing is."""
    group: str
    """What `--allow` must name; empty if nothing."""
    is_taken: bool
    """Whether it is a part of the result."""
    note: str
    """Why it is not taken."""
    alone: LadderSizes | None = None
    """The build with this lever alone."""
    on_top: LadderSizes | None = None
    """The build with this lever and those taken before."""
    below: LadderSizes | None = None
    """The build with those of lower rungs that are taken."""


@dataclass(frozen=True, slots=True)
class LadderResult:
    """The ladder of a program.

    Attributes:
        program: its name.
        compiler: the version of clang.
        reward: the size by which levers are taken.
        allow: what the user allowed.
        start: the build as it was recorded.
        rows: the levers from the bottom.
        end: the build with all levers that are taken.
        flags: these levers, for `passpilot cc`.
        decisions: the path of the decision file; empty without one.
        format: the kind of the JSON.
    """

    program: str
    compiler: str
    reward: str
    allow: str
    start: LadderSizes
    rows: tuple[LadderRow, ...]
    end: LadderSizes
    flags: str
    decisions: str = ""
    format: str = FORMAT

    @property
    def taken(self) -> list[LadderRow]:
        """The rows that are taken."""
        return [row for row in self.rows if row.is_taken]

    @property
    def waiting(self) -> list[LadderRow]:
        """The best lever of every rung that waits for `--allow`."""
        best: dict[str, LadderRow] = {}
        for row in self.rows:
            if row.note.startswith("--allow") and row.on_top:
                other = best.get(row.rung)
                if not other or self._size(row) < self._size(other):
                    best[row.rung] = row
        return list(best.values())

    def _size(self, row: LadderRow) -> int:
        return row.on_top.of(self.reward) if row.on_top else 0

    def write(self, path: str) -> None:
        """Write the ladder as JSON.

        Raises:
            InputError: it cannot be written.
        """
        write_file(path, json.dumps(asdict(self), indent=1) + "\n")

    @classmethod
    def read(cls, path: str) -> LadderResult:
        """Read a ladder.

        Raises:
            InputError: the file cannot be read, or is none.
        """
        raw = read_json(path, "a ladder of `passpilot tune`")
        if not isinstance(raw, dict) or raw.get("format") != FORMAT:
            raise InputError(f"{path}: expected a ladder of `passpilot tune`, got other JSON")
        return typed_record(raw, cls, path)


@dataclass
class Ladder:
    """The search for what to switch on.

    Attributes:
        build: builds the program.
        allowed: what may be taken, beside what costs nothing.
        reward: one of `SIZES`; a lever is taken if it makes this one smaller.
        decide: makes a decision file for a build with levers, and returns its path; None for no decisions.
        kept: a file for what is measured, from which the same search goes on; empty for none.
        step: called before each build with the number of builds so far and the lever's name.
        seen: called with each row.
        brief: whether no lever is measured alone, and no instructions are counted.
    """

    build: ProgramBuild
    allowed: Allowed
    reward: str = "allocated"
    decide: Callable[[LeverSet], str] | None = None
    kept: str = ""
    step: Callable[[int, str], object] = lambda count, name: None  # noqa: ARG005
    seen: Callable[[LadderRow], object] = lambda row: None  # noqa: ARG005
    brief: bool = False
    _measured: dict[str, LadderSizes] = field(init=False, default_factory=dict)
    _builds: int = field(init=False, default=0)

    def run(self, levers: Sequence[Lever] = LEVERS, compiler: str = "") -> LadderResult:
        """Measure all levers.

        Raises:
            Error: the program cannot be built as it was recorded.
        """
        self._take_up()
        on, start = LeverSet(), self._measure(LeverSet(), "as it is")
        below, rows = start, list[LadderRow]()
        every = [*levers, *([DECISIONS] if self.decide else [])]
        for _, rung in groupby(every, key=lambda lever: lever.rung):
            found, best = self._rung(list(rung), on, below)
            rows += found
            for row in found:
                self.seen(row)
            if best:
                on = on.with_lever(best)
                below = next(row.on_top for row in found if row.is_taken and row.on_top)
        result = LadderResult(
            self.build.program.name,
            compiler,
            self.reward,
            str(self.allowed),
            start,
            tuple(rows),
            below,
            on.line,
            on.decisions,
        )
        if self.kept and os.path.exists(self.kept):
            os.unlink(self.kept)
        return result

    def _rung(
        self, levers: list[Lever], on: LeverSet, below: LadderSizes
    ) -> tuple[list[LadderRow], Lever | None]:
        """The rows of alternatives, and the one that is taken."""
        rows, best = list[LadderRow](), -1
        for number, lever in enumerate(levers):
            if lever is DECISIONS and self.decide:
                try:
                    path = self.decide(on)
                except Error as error:
                    rows.append(_failed(lever, error))
                    continue
                levers[number] = lever = replace(lever, passpilot=(f"decisions={path}",))
            rows.append(row := self._row(lever, on, below))
            before = rows[best].on_top if best >= 0 else None
            if before and row.on_top and row.on_top.of(self.reward) >= before.of(self.reward):
                rows[-1] = replace(row, is_taken=False, note=f"{levers[best].name} does the same or more")
            elif row.is_taken:
                if best >= 0:
                    rows[best] = replace(rows[best], is_taken=False, note=f"{lever.name} is smaller")
                best = len(rows) - 1
        return rows, levers[best] if best >= 0 else None

    def _row(self, lever: Lever, on: LeverSet, below: LadderSizes) -> LadderRow:
        if refusal := self.build.refusal(lever):
            return LadderRow(*_known(lever), False, refusal)
        try:
            on_top = self._measure(on.with_lever(lever), lever.name)
            one, what = LeverSet((lever,)), f"{lever.name} alone"
            alone = None if self.brief else self._measure(one, what, runs=False)
        except Error as error:
            return _failed(lever, error)
        note = self._refused(lever, on_top, below)
        return LadderRow(*_known(lever), not note, note, alone, on_top, below)

    def _refused(self, lever: Lever, on_top: LadderSizes, below: LadderSizes) -> str:
        """Why a measured lever is not taken; empty if it is."""
        ratio = size_ratio(on_top.of(self.reward), below.of(self.reward))
        if ratio > 1 or (ratio == 1 and (lever.group or lever.name == DECISIONS.name)):
            return "gains nothing" if ratio == 1 else "larger"
        if ratio * on_top.xz / below.xz > 1 and not self.allowed.by_name(lever):
            hint = f"; --allow={lever.name} takes it" if lever.group else ""
            return f"xz grows to {on_top.xz / below.xz:.3f}{hint}"
        return "" if self.allowed(lever) else f"--allow={lever.group}"

    def _measure(self, levers: LeverSet, what: str, *, runs: bool = True) -> LadderSizes:
        """Build and measure, unless the same flags have been measured."""
        key = f"{self.build.identity}{' brief' * self.brief} {levers.line}"
        keep = not levers.decisions  # which may be others under the same name
        if key in self._measured and keep:
            return self._measured[key]
        self.step(self._builds, what)
        self._builds += 1
        built = self.build.build(levers)
        sizes = file_sizes(built.path, self.build.commands)
        count = self.build.instructions(built.path) if runs and not self.brief else None
        found = LadderSizes(*sizes, round(built.seconds, 3), count)
        if keep:
            self._measured[key] = found
            if self.kept:
                write_file(self.kept, json.dumps({key: asdict(each) for key, each in self._measured.items()}))
        return found

    def _take_up(self) -> None:
        """Go on with what a search that was killed has measured."""
        if self.kept and os.path.exists(self.kept):
            raw = read_json(self.kept, "what a ladder has measured")
            if isinstance(raw, dict):
                self._measured = {
                    key: typed_record(each, LadderSizes, self.kept) for key, each in raw.items()
                }


def size_ratio(own: int, other: int) -> float:
    """A size relative to another one, also where that is nothing."""
    return own / other if other else 1.0 + own


def _known(lever: Lever) -> tuple[str, str, str, str, str]:
    return lever.name, lever.rung, " ".join(lever.flags), lever.loses, lever.group


def _failed(lever: Lever, error: Error) -> LadderRow:
    return LadderRow(*_known(lever), False, f"fails: {' '.join(str(error).split())}")
