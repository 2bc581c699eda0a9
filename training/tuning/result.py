# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a search found, as decisions for files and as tables for reports."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Final

from passpilot.training.tuning.decision_file import UnitDecisions
from passpilot.training.tuning.influence import components
from passpilot.training.tuning.search import Known, Search
from passpilot.training.tuning.unit import UnitChoice

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from passpilot.plugin.ir import Function
    from passpilot.training.tuning.decision_file import CallKey
    from passpilot.training.tuning.reward import RewardText
    from passpilot.training.tuning.search import Found
    from passpilot.training.tuning.speed import SpeedSearch
    from passpilot.training.tuning.unit import Unit

_NUMBERED: Final = re.compile(r"#\d+|!\d+|(?<=@\.str)\.\d+|, !\w+ !\d+")
"""Names in LLVM's text that change with what is elsewhere in the module."""


def function_hash(function: Function) -> str:
    """A short hash of a function's name and body."""
    return hashlib.sha256(_NUMBERED.sub("", str(function)).encode()).hexdigest()[:8]


def _is_defined(function: Function) -> bool:
    return not function.is_declaration


def earlier_decisions(unit: Unit, earlier: Sequence[UnitDecisions]) -> Known | None:
    """What an earlier search found for a unit; None if the unit is new, or was made smaller by nothing."""
    found = next((each for each in earlier if each.name == unit.name), None)
    if found is None:
        return None
    unchanged = {
        function.name
        for function in unit.module.functions
        if _is_defined(function) and function_hash(function) in found.searched
    }
    choice = UnitChoice(found.inline, found.pipeline, tuple(found.options), found.functions)
    return Known(choice, frozenset(unchanged))


def unit_decisions(search: Search | SpeedSearch, found: Found, reward: RewardText) -> list[UnitDecisions]:
    """The decisions for every unit, with what they are worth in bytes if bytes were searched."""
    gains: list[Mapping[CallKey, int]] = [{}] * len(search.units)
    is_timed = True
    if isinstance(search, Search):
        gains, is_timed = _gains(search, found), False
    units = []
    for number, (unit, compiled) in enumerate(zip(search.units, found.best.made, strict=True)):
        choice, before, after = compiled.choice, found.start.sizes.objects, found.best.sizes.objects
        told = "" if is_timed else f"{reward.told(before[number], after[number])}, "
        note = f"{told}{len(choice.inline)} of {len(compiled.asked)} calls"
        units.append(
            UnitDecisions(
                unit.name,
                choice.inline,
                choice.tail,
                choice.options,
                choice.functions,
                gains[number],
                frozenset(map(function_hash, filter(_is_defined, unit.module.functions))),
                [note],
            )
        )
    return units


def _gains(search: Search, found: Found) -> list[Mapping[CallKey, int]]:
    """By how many bytes every decision makes the program smaller.

    Decisions of one component act together, and share what the component gains. Outlined code belongs to no
    component, so what it costs is taken from all.
    """
    edges = [
        {
            search.edge(number, call): asked.inlined
            for number, compiled in enumerate(outcome.made)
            for call, asked in compiled.asked.items()
        }
        for outcome in (found.start, found.best)
    ]
    whole = components(edges)
    gained: dict[str, float] = {}
    for outcome, sign in ((found.start, 1), (found.best, -1)):
        for name, size in outcome.sizes.functions.items():
            component = whole.get(name, name)
            gained[component] = gained.get(component, 0) + sign * size
    calls = [
        (number, call, whole[search.edge(number, call).caller])
        for number, compiled in enumerate(found.best.made)
        for call in compiled.choice.inline
    ]
    sharing: dict[str, int] = {}
    for _, _, component in calls:
        sharing[component] = sharing.get(component, 0) + 1
    gaining = sum(max(0, gained.get(each, 0)) for each in sharing)
    part = min(1, (found.start.total - found.best.total) / gaining) if gaining else 0
    gained = {component: part * size for component, size in gained.items()}
    gains: list[dict[CallKey, int]] = [{} for _ in found.best.made]
    for number, call, component in calls:
        share = int(max(0, gained.get(component, 0)) // sharing[component])
        gains[number][call] = share
        gained[component] = gained.get(component, 0) - share
        sharing[component] -= 1
    return list(gains)


def result_table(search: Search | SpeedSearch, found: Found, reward: RewardText) -> dict[str, object]:
    """The search for `passpilot report`: its curve, and the sizes of functions before and after."""

    def functions(sizes: Mapping[str, float]) -> dict[str, float]:
        return {name: size for name, size in sizes.items() if size}

    timed = {}
    if not isinstance(search, Search):
        timed = {"confirmed": search.confirmed, "unseen": search.confirmed_unseen}
    return {
        **timed,
        "reward": reward.text,
        "start": found.start.total,
        "text": found.best.total,
        "compilations": found.compiles,
        "seconds": round(found.seconds, 2),
        "curve": [[compiles, round(seconds, 3), size] for compiles, seconds, size in found.curve],
        "functions": {
            "before": functions(found.start.sizes.functions),
            "after": functions(found.best.sizes.functions),
        },
        "units": [
            {
                "name": unit.name,
                **({"start": start, "text": text} if start else {}),  # a timed search does not know them
                "calls": len(made.choice.inline),
                "pipeline": made.choice.tail,
                "options": " ".join(made.choice.options),
            }
            for unit, start, text, made in zip(
                search.units,
                found.start.sizes.objects,
                found.best.sizes.objects,
                found.best.made,
                strict=True,
            )
        ],
    }
