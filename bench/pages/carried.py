# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes the table of docs/versions.md about what carries over, of the records in bench/results/versions.

usage: python -m bench.pages.carried [--check]
"""

from __future__ import annotations

from collections.abc import Iterable
from statistics import geometric_mean
from typing import Final

from bench.lib import RESULTS, command, read
from bench.pages.markdown import replaced, table, write_or_check

PAGE: Final = "docs/versions.md"
HEADS: Final = (
    "LLVM",
    "decision files",
    "those of `--search=inline`",
    "decisions that match a call",
    "model, in programs that taught it",
    "model, in others",
)


def line(major: str) -> tuple[str, ...]:
    record = read(f"versions/{major}-carried.json")
    rows, taught = record["programs"], record["taught"]

    def mean(way: str, names: Iterable[str]) -> str:
        return f"{geometric_mean(rows[name][way] / rows[name]['-Oz'] for name in names):.3f}"

    matched, count = (sum(row["matched"][place] for row in rows.values()) for place in (0, 1))
    return (
        major,
        mean("tuned", rows),
        mean("inline", rows),
        f"{matched:,} of {count:,}",
        mean("model", taught),
        mean("model", [name for name in rows if name not in taught]),
    )


@command
def main(*, check: bool = False) -> None:
    majors = sorted(path.name.partition("-")[0] for path in (RESULTS / "versions").glob("*-carried.json"))
    text = table(HEADS, map(line, majors))
    write_or_check({PAGE: replaced(PAGE, "bench.pages.carried", text)}, check=check)
