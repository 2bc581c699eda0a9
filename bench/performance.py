# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the table of the bars in docs/performance.md and its plot, from bench/results/bars.

usage: python bench/performance.py [--check]

With --check it writes nothing, and fails if a file is not what it would write.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

ROOT: Final = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
from bench.bars import RESULTS, Bar, Record, read_record  # noqa: E402
from bench.check import CHECKS  # noqa: E402
from bench.dots import dots  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Sequence

PAGE: Final = "docs/performance.md"
PLOT: Final = "docs/images/performance.svg"
MARKS: Final = ("<!-- bench/performance.py writes this -->\n", "<!-- its end -->\n")
TITLE: Final = "Figures relative to their peers"
FAR: Final = 3.0
"""The plot shows figures up to so many times their peer's."""


def relative(bar: Bar) -> float | None:
    """The figure as a ratio to the peer, where less is better; nothing for figures that have a unit."""
    if not bar.peer or "µs" in bar.name or "ms" in bar.name.split():
        return None
    return 1 / bar.value if bar.least else bar.value


def row(record: Record, bar: Bar) -> str:
    verdict = "yes" if bar.passed else "**no**"
    cells = (f"`{record.script}`", bar.name, f"{bar.value:.3g}", bar.limit_text, bar.peer or "-", verdict)
    return f"| {' | '.join(cells)} |\n"


def section(records: Sequence[Record]) -> str:
    """The table, and what it was measured on."""
    machines = sorted({f"{each.machine['processor']}, {each.machine['cores']} cores" for each in records})
    dates = sorted(each.date for each in records)
    kept = sum(bar.passed for each in records for bar in each.bars)
    count = sum(len(each.bars) for each in records)
    measured = {each.script for each in records}
    missing = [f"`{check.script}`" for check in CHECKS if check.script not in measured]
    rest = f" Without a record: {', '.join(missing)}." if missing else ""
    return (
        f"Measured from {dates[0]} to {dates[-1]} on {'; '.join(machines)}. "
        f"{kept} of {count} figures keep their bars.{rest}\n\n"
        f"![{TITLE}](images/performance.svg)\n\n"
        "| script | figure | value | bar | peer | kept |\n|---|---|---|---|---|---|\n"
        + "".join(row(record, bar) for record in records for bar in record.bars)
    )


def plot(records: Sequence[Record]) -> str:
    """The ratios to peers as SVG; a dot left of 1 is better than the peer."""
    rows = {
        f"{bar.name} / {bar.peer}": {"passpilot": ratio}
        for record in records
        for bar in record.bars
        if (ratio := relative(bar)) is not None and ratio <= FAR
    }
    return dots(TITLE, ["passpilot"], rows, step=0.25, left=430)


def texts(root: Path = ROOT) -> dict[str, str]:
    """What the files should say, by their paths."""
    names = sorted(path.stem for path in RESULTS.glob("*.json"))
    records = [record for name in names if (record := read_record(name)) is not None]
    page = (root / PAGE).read_text()
    start, end = page.index(MARKS[0]) + len(MARKS[0]), page.index(MARKS[1])
    return {PAGE: page[:start] + section(records) + page[end:], PLOT: plot(records)}


def main(arguments: Sequence[str]) -> int:
    """Write the files, or check them; returns the exit code."""
    made = texts()
    stale = [
        name for name, text in made.items() if not (ROOT / name).exists() or (ROOT / name).read_text() != text
    ]
    if "--check" in arguments:
        print(*(f"{name}: expected what bench/performance.py writes" for name in stale), sep="\n")
        return 1 if stale else 0
    for name in stale:
        (ROOT / name).write_text(made[name])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
