# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The counts of sweeps over programs, and their cases, in a file that is committed: any machine goes on.

    {"units": {"lua": ["lapi.c.bc", ...]},
     "rows": {"every, corpus": {"cases": 46, "decisions": 9, "left out": 0, "wrong": {}, "trees": ["95e4cef"],
                                "date": "2026-11-24", "done": {"lua": "0-3,7"}}}}

A row is a trial on programs of one kind. `done` has the seeds of every program or, of units, their places in
the list of the program's units. A wrong case is not done: it is judged again, and goes when it is right.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bench.sweeps.trials import Case


@dataclass
class Row:
    """The counts of a trial on programs of one kind."""

    cases: int = 0
    decisions: int = 0
    left_out: int = 0
    wrong: dict[str, str] = field(default_factory=dict)
    trees: set[str] = field(default_factory=set)
    """The commits that the cases ran on, with a `+` for trees with changed files."""
    date: str = ""
    done: dict[str, set[int]] = field(default_factory=dict)
    """Seeds, or places of units, by program."""

    @property
    def seeds(self) -> int:
        """How many seeds all programs have had; of units, whose numbers are places, this says nothing."""
        return len(set.intersection(*self.done.values())) if self.done else 0

    @classmethod
    def read(cls, raw: dict[str, Any]) -> Row:
        done = {program: numbers(text) for program, text in raw["done"].items()}
        fields = {key.replace(" ", "_"): value for key, value in raw.items()}
        return cls(**{**fields, "trees": set(raw["trees"]), "done": done})

    def as_json(self) -> dict[str, object]:
        done = {program: ranges(numbers) for program, numbers in sorted(self.done.items())}
        row = {**vars(self), "trees": sorted(self.trees), "done": done}
        return {key.replace("_", " "): value for key, value in row.items()}


class Ledger:
    def __init__(self, path: Path) -> None:
        self._path = path
        raw = json.loads(path.read_text()) if path.exists() else {"units": {}, "rows": {}}
        self._units: dict[str, list[str]] = raw["units"]
        self.rows = {name: Row.read(row) for name, row in raw["rows"].items()}
        """By ``TRIAL, KIND``."""

    def _place(self, case: Case) -> tuple[str, int]:
        """The program of a case, and its number there; a unit that is new gets one."""
        name, slash, unit = case.program.partition("/")
        if not slash:
            return name, case.seed
        known = self._units.setdefault(name, [])
        if unit not in known:
            known.append(unit)
        return name, known.index(unit)

    def __contains__(self, case: Case) -> bool:
        """Whether a case was judged, and right or left out."""
        row, (program, number) = self.rows.get(f"{case.trial}, {case.kind}"), self._place(case)
        return row is not None and number in row.done.get(program, ())

    def add(self, cases: Iterable[Case]) -> None:
        """Count cases; those that are done already change nothing."""
        for case in cases:
            if case not in self:
                self._count(case)

    def _count(self, case: Case) -> None:
        row, (program, number) = self.rows.setdefault(f"{case.trial}, {case.kind}", Row()), self._place(case)
        place = f"{case.program}, seed {case.seed}"
        row.wrong.pop(place, None)
        if case.wrong:
            row.wrong[place] = case.wrong
            return
        row.done.setdefault(program, set()).add(number)
        row.cases += not case.left_out
        row.left_out += case.left_out
        row.decisions += case.decisions
        row.trees.add(case.tree)
        row.date = max(row.date, case.date)

    def write(self) -> None:
        """Write the file, whole or not at all."""
        rows = {name: row.as_json() for name, row in sorted(self.rows.items())}
        units = {name: self._units[name] for name in sorted(self._units)}
        self._path.parent.mkdir(parents=True, exist_ok=True)
        partial = self._path.with_suffix(".partial")
        partial.write_text(json.dumps({"units": units, "rows": rows}, indent=1) + "\n")
        partial.replace(self._path)


def ranges(found: Iterable[int]) -> str:
    """Numbers as ``0-3,7``."""
    parts: list[list[int]] = []
    for number in sorted(found):
        if parts and number == parts[-1][-1] + 1:
            parts[-1][1:] = [number]
        else:
            parts.append([number])
    return ",".join("-".join(map(str, part)) for part in parts)


def numbers(text: str) -> set[int]:
    """The numbers of ``0-3,7``."""
    pairs = (part.partition("-") for part in text.split(",") if part)
    return {number for first, _, last in pairs for number in range(int(first), int(last or first) + 1)}
