# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the table of the bars in docs/performance.md and its plot, from bench/results/bars.

usage: python -m bench.pages.performance [--check]

With --check it writes nothing, and fails if a file is not what it would write.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from bench.check import CHECKS
from bench.lib import FOLDER, RESULTS, Bar, Record, command, read_record
from bench.pages.dots import dots
from bench.pages.markdown import replaced, table, write_or_check

PAGE: Final = "docs/performance.md"
PLOT: Final = "docs/images/performance.svg"
TITLE: Final = "Figures relative to their peers"
FAR: Final = 3.0
"""The plot shows figures up to so many times their peer's."""


def relative(bar: Bar) -> float | None:
    """The figure as a ratio to the peer, where less is better; nothing for figures that have a unit."""
    if not bar.peer or "µs" in bar.name or "ms" in bar.name.split():
        return None
    return 1 / bar.value if bar.least else bar.value


def section(records: Sequence[Record]) -> str:
    machines = sorted(
        {f"{record.machine['processor']}, {record.machine['cores']} cores" for record in records}
    )
    dates = sorted(record.date for record in records)
    bars = [(record.script, bar) for record in records for bar in record.bars]
    kept = sum(bar.passed for _, bar in bars)
    measured = {record.script for record in records}
    missing = [f"`{check.script}`" for check in CHECKS if check.script not in measured]
    rest = f" Without a record: {', '.join(missing)}." if missing else ""
    rows = [
        (
            f"`{name}`",
            bar.name,
            f"{bar.value:.3g}",
            bar.limit_text,
            bar.peer or "-",
            "yes" if bar.passed else "**no**",
        )
        for name, bar in bars
    ]
    return (
        f"Measured from {dates[0]} to {dates[-1]} on {'; '.join(machines)}. "
        f"{kept} of {len(bars)} figures keep their bars.{rest}\n\n"
        f"![{TITLE}](images/performance.svg)\n\n"
        + table(("measurement", "figure", "value", "bar", "peer", "kept"), rows)
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


def texts() -> dict[str, str]:
    names = sorted(path.stem for path in (RESULTS / FOLDER).glob("*.json"))
    records = [record for name in names if (record := read_record(name)) is not None]
    return {PAGE: replaced(PAGE, "bench.pages.performance", section(records)), PLOT: plot(records)}


@command
def main(*, check: bool = False) -> None:
    write_or_check(texts(), check=check)
