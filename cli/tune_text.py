# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `passpilot tune` says: a line while it searches, and a summary at the end."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, cast

from passpilot.plugin import _core
from passpilot.runners.plurals import counted
from passpilot.training.ladder.levers import LEVERS
from passpilot.training.rewards import SIZE_HEADS
from passpilot.training.tuning.recipes import BROUGHT

if TYPE_CHECKING:
    from passpilot.training.tuning.result import TuneResult
    from passpilot.training.tuning.study import Study

FUNCTIONS: Final = 10


def running(study: Study) -> str:
    """The state of a search: its start, the best so far, the share of the budget, the time that is left."""
    start, best, budget = study.curve[0][2], study.best_value, study.budget
    share, left = budget.share, ""
    if share and budget.remains:
        left = f", {_time(budget.elapsed * (1 - share) / share)} left"
    ratio = f" ({best / start:.3f})" if start else ""
    return (
        f"{study.name}: start {study.value_text(start)}, best {study.value_text(best)}{ratio}, "
        f"{share:.0%} of the budget, {counted(study.compiles, 'compilation')}{left}"
    )


def summary(result: TuneResult) -> str:
    """What a search has found: the sizes, what has brought it, what it costs, and where."""
    if not result.sizes:  # of a kernel, whose time counts
        return "\n".join(_effort(result))
    table = cast("Mapping[str, Any]", result.table)
    return "\n".join(
        [
            *_sizes(result),
            *(() if result.best == result.start else (*_brought(table), *_costs(table))),
            *_functions(table),
            *_effort(result),
        ]
    )


def nothing_found(result: TuneResult, path: str, *, is_empty: bool) -> str:
    """What is said of a search that has found nothing, and writes no file to `path`, or an empty one."""
    stays = f"; {path} is of an earlier search" if os.path.isfile(path) else ""
    found = f"{result.name}: nothing found that is better than the compiler's own"
    return (
        f"{found}; its decision file has none" if is_empty else f"{found}; no decision file is written{stays}"
    )


def _time(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def _sizes(result: TuneResult) -> Iterator[str]:
    yield f"  {'bytes':<40}{'before':>12}{'after':>12}{'ratio':>8}"
    for kind, (before, after) in result.sizes.items():
        yield f"  {SIZE_HEADS[kind]:<40}{before:>12,.0f}{after:>12,.0f}{after / (before or 1):>8.3f}"
    if result.link:
        yield f"  linked with {' '.join(result.link)}, which the build does not have;"
        yield "  add it to LDFLAGS with make, to CMAKE_EXE_LINKER_FLAGS with CMake, or to your command"


def _brought(table: Mapping[str, Any]) -> Iterator[str]:
    brought = dict(table.get("brought", {}))
    if brought:
        yield "  what brought it"
    if "unwind" in brought and not any("unwind=" in unit["options"] for unit in table.get("units", ())):
        brought["options"] = brought.get("options", 0) + brought.pop("unwind")
    for lever, gain in sorted(brought.items(), key=lambda row: -row[1]):
        yield f"    {BROUGHT.get(lever, lever):<62}{-gain:>+8,.0f}"


def _costs(table: Mapping[str, Any]) -> Iterator[str]:
    """What is lost by the options of units, by the ladder's table, and what decisions need."""
    used = {option for unit in table.get("units", ()) for option in unit["options"].split()}
    costs: dict[str, set[str]] = {}
    for lever in LEVERS:
        if lever.loses and not lever.compiling:
            costs.setdefault(lever.loses, set()).update(used.intersection((*lever.machine, *lever.passpilot)))
    lost = [f"{cost} ({', '.join(sorted(options))})" for cost, options in costs.items() if options]
    yield "  what it costs"
    for cost in (*lost, "the decision file belongs to the sources: `--update` renews it when they change"):
        yield f"    {cost}"


def _functions(table: Mapping[str, Any]) -> Iterator[str]:
    sides = table.get("functions", {})
    before, after = sides.get("before", {}), sides.get("after", {})
    changes = {name: after.get(name, 0) - before.get(name, 0) for name in {**before, **after}}
    largest = sorted(filter(changes.get, changes), key=lambda name: (-abs(changes[name]), name))[:FUNCTIONS]
    if largest:
        yield "  where: functions that change most, with their tables"
        yield f"{'before':>12}{'after':>12}{'change':>8}  function"
    for name in largest:
        sizes = f"{before.get(name, 0):>12,.0f}{after.get(name, 0):>12,.0f}{changes[name]:>+8,.0f}"
        yield f"{sizes}  {_readable(name):.100}"


def _readable(function: str) -> str:
    """A function's name as in the source; a local one has the number of its unit."""
    unit, colon, name = function.partition(":")
    return _core.demangle(name if colon and unit.isdigit() else function)


def _effort(result: TuneResult) -> Iterator[str]:
    yield f"  time: {_time(result.seconds)}, {counted(result.compiles, 'compilation')}"
