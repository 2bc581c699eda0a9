# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`TuneResult`: what searches found, as decisions for files and as tables for reports."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from passpilot.plugin.failures import utf8
from passpilot.plugin.files import write_file
from passpilot.plugin.ir import Function
from passpilot.runners.plurals import counted
from passpilot.training.rewards import SIZE_HEADS
from passpilot.training.tuning.decision_file import CallKey, UnitDecisions, write_decisions
from passpilot.training.tuning.influence import component_sizes, components
from passpilot.training.tuning.reward import RewardText
from passpilot.training.tuning.search import Known
from passpilot.training.tuning.sizes import SizeOf
from passpilot.training.tuning.study import Study
from passpilot.training.tuning.unit import Unit, UnitChoice

_NUMBERED: Final = re.compile(r"#\d+|!\d+|(?<=@\.str)\.\d+|, !\w+ !\d+")
"""Names in LLVM's text that change with what is elsewhere in the module."""


@dataclass(frozen=True)
class TuneResult:
    """What `passpilot.tune` found for a module or a program, or for several together.

    Attributes:
        name: the module's path or the program's name.
        decisions: those of all units, as `save` writes them.
        start: the bytes with LLVM's own decisions, or what else `reward` names.
        best: the same with `decisions`.
        compiles: the compilations of units.
        seconds: the time.
        curve: compilations, seconds and bytes at the start and at each improvement.
        calls: the calls that LLVM may inline.
        table: the search as `passpilot report` reads it.
        sizes: those of `SIZE_HEADS` with LLVM's own decisions, and with `decisions`.
        runs: for a search for speed, what the runs at the end have shown.
        programs: the results of several modules or programs one by one; empty for one.
        link: the flags with which the program is linked, and which the build's own link does not have.
    """

    name: str
    decisions: Sequence[UnitDecisions] = field(repr=False)
    start: float
    best: float
    compiles: int
    seconds: float
    curve: Sequence[tuple[int, float, float]]
    calls: int
    table: object
    sizes: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    runs: str = ""
    programs: Sequence[TuneResult] = ()
    _change: str = ""
    _note: str = ""
    link: Sequence[str] = ()

    @classmethod
    def of(cls, study: Study, reward: RewardText, size: SizeOf, note: str = "") -> TuneResult:
        """The result of one search, whose programs `size` measures.

        `note` says in the file how the program is compiled.
        """
        start, best = study.start.total, study.best.total
        sizes = {
            kind: (size(study.start.units, kind).total, size(study.best.units, kind).total)
            for kind in SIZE_HEADS
        }
        return cls(
            study.name,
            unit_decisions(study, reward),
            start,
            best,
            study.compiles,
            study.seconds,
            study.curve,
            sum(len(unit.asked) for unit in study.best.units),
            {**result_table(study, reward), "sizes": sizes},
            sizes,
            study.summary(),
            (),
            reward.change(start, best),
            note,
        )

    @classmethod
    def joined(cls, programs: Sequence[TuneResult], reward: RewardText) -> TuneResult:
        """The result of several searches, one after the other."""
        if len(programs) == 1:
            return programs[0]
        start, best = (sum(getattr(each, name) for each in programs) for name in ("start", "best"))
        curve: list[tuple[int, float, float]] = []
        compiles, seconds, value = 0, 0.0, start
        for program in programs:
            curve += [
                (compiles + spent, seconds + elapsed, value - program.start + size)
                for spent, elapsed, size in program.curve
            ]
            compiles, seconds = compiles + program.compiles, seconds + program.seconds
            value += program.best - program.start
        return cls(
            ", ".join(program.name for program in programs),
            [unit for program in programs for unit in program.decisions],
            start,
            best,
            compiles,
            seconds,
            curve,
            sum(program.calls for program in programs),
            [program.table for program in programs],
            {
                kind: (
                    sum(each.sizes[kind][0] for each in programs),
                    sum(each.sizes[kind][1] for each in programs),
                )
                for kind in programs[0].sizes
            },
            "",
            programs,
            reward.change(start, best),
            programs[0]._note,
        )

    @property
    def decides(self) -> bool:
        """Whether anything was found: a decision that makes the program other than the compiler's own."""
        return any(each.inline or each.pipeline or each.options or each.functions for each in self.decisions)

    def save(self, path: str) -> None:
        """Write the decisions to a file for `passpilot cc --decisions=FILE` and the other doors.

        Raises:
            InputError: the file cannot be written.
        """
        write_decisions(path, self.decisions, [", ".join(filter(None, (self._change, self._note)))])

    def save_table(self, path: str) -> None:
        """Write the search as JSON, for `passpilot report`."""
        write_file(path, json.dumps(self.table) + "\n")

    def __repr__(self) -> str:
        ratio = self.best / self.start if self.start else 1.0
        decided = sum(len(unit.inline) for unit in self.decisions)
        sizes = ", ".join(
            f"{SIZE_HEADS[kind]} {after / (before or 1):.3f}"
            for kind, (before, after) in self.sizes.items()
            if not self._change.startswith(f"{SIZE_HEADS[kind]} ")
        )
        return (
            f"{self.name}: {self._change} ({ratio:.3f}){sizes and f'; {sizes}'}; "
            f"{decided} of {counted(self.calls, 'call')} decided, "
            f"{counted(self.compiles, 'compilation')} in {self.seconds:.0f} s"
        )


def function_hash(function: Function) -> str:
    """A short hash of a function's name and body."""
    return hashlib.sha256(utf8(_NUMBERED.sub("", str(function)))).hexdigest()[:8]


def _hashes(unit: Unit) -> dict[str, str]:
    """The hashes of the functions that a unit defines, by name."""
    return {each.name: function_hash(each) for each in unit.module.functions if not each.is_declaration}


def earlier_decisions(unit: Unit, earlier: Sequence[UnitDecisions]) -> Known | None:
    """What an earlier search found for a unit; None if the unit is new, or was made smaller by nothing."""
    found = next((each for each in earlier if each.name == unit.name), None)
    if found is None:
        return None
    hashes = _hashes(unit)
    unchanged = frozenset(name for name, digest in hashes.items() if digest in found.searched)
    choice = UnitChoice(found.inline, found.pipeline, tuple(found.options), found.functions)
    return Known(choice, unchanged, has_changed=len(unchanged) < len(hashes))


def unit_decisions(study: Study, reward: RewardText) -> list[UnitDecisions]:
    """The decisions for every unit, with what they are worth in bytes if bytes were searched."""
    is_timed = reward.run is not None
    gains: list[dict[CallKey, int]] = [{} for _ in study.units] if is_timed else _gains(study)
    units = []
    for number, (unit, compiled) in enumerate(zip(study.units, study.best.units, strict=True)):
        choice, before, after = compiled.choice, study.start.sizes.objects, study.best.sizes.objects
        change = "" if is_timed else f"{reward.change(before[number], after[number])}, "
        units.append(
            UnitDecisions(
                unit.name,
                dict(choice.inline),
                choice.tail,
                choice.options,
                dict(choice.functions),
                gains[number],
                frozenset(_hashes(unit).values()),
                [f"{change}{len(choice.inline)} of {len(compiled.asked)} calls"],
                unit.pipeline[len("default<") : -1] if unit.pipeline.startswith("default<O") else "",
            )
        )
    return units


def _gains(study: Study) -> list[dict[CallKey, int]]:
    """By how many bytes every decision makes the program smaller.

    Decisions of one component act together, and share what the component gains. Outlined code belongs to no
    component, so what it costs is taken from all.
    """
    component_of = components([study.edges(outcome) for outcome in (study.start, study.best)])
    before, after = (
        component_sizes(outcome.sizes.functions, component_of) for outcome in (study.start, study.best)
    )
    calls = [
        (number, call, component_of[study.scoped(number, call.caller)])
        for number, compiled in enumerate(study.best.units)
        for call in compiled.choice.inline
    ]
    sharing = Counter(component for _, _, component in calls)
    gained = {component: before[component] - after[component] for component in sharing}
    gaining = sum(max(0, size) for size in gained.values())
    part = min(1, (study.start.total - study.best.total) / gaining) if gaining else 0
    left = {component: part * size for component, size in gained.items()}
    gains: list[dict[CallKey, int]] = [{} for _ in study.best.units]
    for number, call, component in calls:
        share = int(max(0, left[component]) // sharing[component])
        gains[number][call] = share
        left[component] -= share
        sharing[component] -= 1
    return gains


def result_table(study: Study, reward: RewardText) -> dict[str, object]:
    """The search for `passpilot report`: its curve, and the sizes of functions before and after."""
    before, after = study.start.sizes, study.best.sizes
    return {
        **study.facts(),
        "reward": reward.text,
        "start": study.start.total,
        "text": study.best.total,
        "compilations": study.compiles,
        "seconds": round(study.seconds, 2),
        "brought": study.brought,
        "curve": [[compiles, round(seconds, 3), size] for compiles, seconds, size in study.curve],
        "functions": {
            side: {name: size for name, size in sizes.functions.items() if size}
            for side, sizes in (("before", before), ("after", after))
        },
        "units": [
            {
                "name": unit.name,
                **({"start": start, "text": text} if start else {}),  # a timed search does not know them
                "calls": len(compiled.choice.inline),
                "pipeline": compiled.choice.tail,
                "options": " ".join(compiled.choice.options),
            }
            for unit, start, text, compiled in zip(
                study.units, before.objects, after.objects, study.best.units, strict=True
            )
        ],
    }
