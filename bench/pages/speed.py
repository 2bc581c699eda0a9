# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes docs/speed.md of what bench.measure.tuning.beyond_o3 has measured.

usage: python -m bench.pages.speed [--check]

With --check it writes nothing, and fails if the page is not what it would write.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from bench.lib import command, read
from bench.measure.tuning.beyond_o3 import FULL, KINDS, LEVERS, O3, PAIRS, RUNS, THIN
from bench.pages.markdown import table, write_or_check
from passpilot.training.evaluation.results import mean_ratio

PAGE: Final = "docs/speed.md"
TUNED, WHOLE = "tuned", f"stock {FULL}"

Row = dict[str, Any]


def instructions(row: Row, who: str, base: str = "stock") -> float:
    """Those of the run that the search does not see; a search that finds nothing changes nothing."""
    counts = row["unseen"]
    own, other = (counts.get(side, counts["stock"]) for side in (who, base))
    return float(own["instructions"] / other["instructions"])


def seen(row: Row) -> float:
    counts = row["seen"]
    return float(counts.get(TUNED, counts["stock"]) / counts["stock"])


def time(row: Row, who: str) -> Mapping[str, float]:
    return row["unseen"].get(who, {}).get("time") or {"ratio": 1.0, "low": 1.0, "high": 1.0}


def interval(value: Mapping[str, Any], digits: int) -> str:
    return f"{value['ratio']:.{digits}f} ({value['low']:.{digits}f}-{value['high']:.{digits}f})"


def mean(rows: Mapping[str, Row], of: Callable[[Row], float], digits: int) -> str:
    found = mean_ratio([of(row) for row in rows.values()])
    assert found
    return interval(found, digits)


def alone(row: Row) -> str:
    """What each lever that decided something does alone, relative to the program without decisions."""
    base = row["unseen"][WHOLE if WHOLE in row["unseen"] else "stock"]["instructions"]
    found = {lever: row["levers"][lever] / base for lever in LEVERS if lever in row["levers"]}
    return ", ".join(f"{lever} {ratio:.3f}" for lever, ratio in found.items())


def of_kind(rows: Mapping[str, Row], kind: str) -> str:
    """A table for one kind of build."""
    whole = kind == THIN
    heads = ["program", "instructions", "seen by the search", "time", "levers alone"]
    lines: list[list[str]] = [
        [
            name,
            f"{instructions(row, TUNED):.3f}",
            f"{seen(row):.3f}",
            interval(time(row, TUNED), 3),
            alone(row),
        ]
        for name, row in rows.items()
    ]
    lines.append(
        [
            "geometric mean",
            mean(rows, lambda row: instructions(row, TUNED), 3),
            mean(rows, seen, 3),
            mean(rows, lambda row: time(row, TUNED)["ratio"], 3),
            "",
        ]
    )
    if whole:
        heads.insert(1, "stock `-flto`")
        for line, row in zip(lines, rows.values(), strict=False):
            line.insert(1, f"{instructions(row, WHOLE):.3f}")
        lines[-1].insert(1, mean(rows, lambda row: instructions(row, WHOLE), 3))
    return table(heads, [tuple(line) for line in lines])


def page(kinds: Mapping[str, Mapping[str, Row]]) -> str:
    (compiles,) = {row["compiles"] for rows in kinds.values() for row in rows.values()}
    thin = kinds[THIN]
    own = mean(thin, lambda row: instructions(row, TUNED, WHOLE), 3)
    used = {lever for rows in kinds.values() for row in rows.values() for lever in row["levers"]}
    unused = [f"`{lever}`" for lever in LEVERS if lever not in used]
    minutes = sum(row["seconds"] for rows in kinds.values() for row in rows.values()) / 60
    idle = f" {' and '.join(unused)} decided nothing in any program." if unused else ""
    return f"""\
# What tune gains over -O3

This page has what `passpilot tune --reward='run: …'` gains over `-O3` in eight programs: a few per cent of
the instructions, and hardly any time.

Every program has two runs with different input. The [search](tuning.md) counts instructions of the first
(`--runs=instructions`), with {compiles} compilations of each unit and the levers
{", ".join(f"`{lever}`" for lever in LEVERS)}.
The figures are those of the other run, which the search does not see: instructions relative to stock clang
with the same flags (valgrind), and processor time of {PAIRS} runs in turns, with its 95 % interval. The means
are geometric, with 95 % intervals by bootstrap over the programs; a search that finds nothing counts as 1. A
lever alone has only its part of the decisions. All searches and builds took {minutes:.0f} minutes on one of
two cores, beside other work.{idle}

## Against -O3

{of_kind(kinds[O3], O3)}
## Against -O3 with ThinLTO

`tune` does not search ThinLTO. The tuned program has full link-time optimization (`-O3 {FULL}`), and so a
column has stock full link-time optimization relative to ThinLTO. Relative to that, the decisions alone bring
{own} of the instructions. *levers alone* is relative to it, too.

{of_kind(thin, THIN)}
## Against -O3 with a profile

Both sides have clang's profile (`-fprofile-instr-use`) of the run that the search sees.

{of_kind(kinds[KINDS[2]], KINDS[2])}
`python -m bench.measure.tuning.beyond_o3 --compiles={compiles}` measures it, and
`python -m bench.pages.speed` made this page.
"""


@command
def main(*, check: bool = False) -> None:
    programs = {name: read(f"beyond-o3/{name}.json", {}) for name in RUNS}
    kinds = {kind: {name: row["kinds"][kind] for name, row in programs.items()} for kind in KINDS}
    write_or_check({PAGE: page(kinds)}, check=check)
