# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes the table of docs/versions.md of the records in bench/results/versions.

usage: python -m bench.pages.versions [--check]
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from bench.lib import RESULTS, command, read
from bench.pages.markdown import replaced, table, write_or_check

PAGE: Final = "docs/versions.md"
HEADS: Final = ("LLVM", "system, Python", "opt as stock", "llc as stock", "random advice", "tests", "lit")


def cases(rows: Iterable[dict[str, Any]]) -> str:
    """The cases of some rows, their decisions and what was wrong."""
    found = list(rows)
    if not found:
        return "not run"
    count, decisions = (sum(row[key] for row in found) for key in ("cases", "decisions"))
    return f"{count:,} cases, {decisions:,} decisions, {sum(len(row['wrong']) for row in found)} wrong"


def counts(row: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {kind}" for kind, count in row.items()) or "not run"


def line(name: str) -> tuple[str, ...]:
    sweeps, tests = read(f"versions/{name}.json", {"rows": {}})["rows"], read(f"versions/{name}-tests.json")
    kinds: dict[str, list[dict[str, Any]]] = {"opt": [], "llc": [], "random": []}
    for name, row in sweeps.items():
        kind = "random" if name.endswith("csmith") else "llc" if name.startswith("llc") else "opt"
        kinds[kind].append(row)
    tasks = f"{counts(tests['tasks'])} of a newcomer's tasks; " if "tasks" in tests else ""
    return (
        tests["llvm"],
        f"{tests['system']}, {tests['python']}",
        *map(cases, kinds.values()),
        tasks + counts(tests.get("pytest", {})),
        counts(tests.get("lit", {})),
    )


@command
def main(*, check: bool = False) -> None:
    records = (RESULTS / "versions").glob("*-tests.json")
    names = sorted(path.name.removesuffix("-tests.json") for path in records)
    text = table(HEADS, map(line, names))
    write_or_check({PAGE: replaced(PAGE, "bench.pages.versions", text)}, check=check)
