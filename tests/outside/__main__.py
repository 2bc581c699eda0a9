# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Builds projects of others with advice, and runs their own tests.

usage: python -m tests.outside [PROJECT ...]

Every project of projects.toml is built with clang-22, with `passpilot cc` and random advice about inlining,
eviction and priority, and with the policy @oz. As many tests must pass and fail as with clang-22, and the
machine code must be another one, because a build without questions proves nothing. Prints a table, and writes
bench/results/outside.json after each project; projects that are there are not built again, unless they are
named. Fails if a project does not build, or if its tests end in another way.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from tests.corpus.fetch import CorpusError
from tests.outside.outside_projects import COMPILERS, STOCK, ProjectError, projects, tried

RESULTS: Final = Path(__file__).parents[2] / "bench/results/outside.json"

SOME_FAIL: Final = 1
"""Exit code of pytest. Some tests fail with every compiler, by another Python or without data; they must fail
with ours, too, and no others."""

PASSED: Final = ("passed", "PASS", "Ok", "failed out of")
"""Words of pytest, automake, meson and ctest about tests that pass."""

Row = dict[str, Any]


def main(names: list[str]) -> int:
    """Build, print, write; returns the exit code."""
    rows: dict[str, Row] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    failed = []
    for name, project in projects().items():
        if name not in names if names else name in rows:
            continue
        try:
            builds = {compiler: asdict(tried(project, compiler)) for compiler in COMPILERS}
        except (ProjectError, CorpusError) as error:
            print(f"{name}: {error}", file=sys.stderr, flush=True)
            failed.append(name)
            continue
        rows[name] = {
            "version": project.origin.version,
            "language": project.language,
            "known": project.known,
            "builds": builds,
        }
        print(f"{name}: {problem(rows[name]) or 'as with clang-22'}", flush=True)
        RESULTS.write_text(json.dumps(rows, indent=1) + "\n")
    show(rows)
    wrong = {name: said for name, row in rows.items() if (said := problem(row))}
    for name, said in wrong.items():
        print(f"{name}: {said}", file=sys.stderr)
    return 1 if wrong or failed else 0


def problem(row: Row) -> str:
    """What is wrong with a project, or an empty text."""
    builds = row["builds"]
    stock = builds[STOCK]
    some_pass = not stock["counts"] or any(word in stock["counts"] for word in PASSED)
    if stock["exit"] not in (0, SOME_FAIL) or not some_pass:
        return f"expected tests that pass with {STOCK}, got exit code {stock['exit']}"
    for name, build in builds.items():
        if (build["exit"], build["counts"]) != (stock["exit"], stock["counts"]):
            return f"{name}: expected {stock['counts']}, got exit code {build['exit']}, {build['counts']}"
        if name != STOCK and build["code"] == stock["code"]:
            return f"{name}: expected another size of code than {STOCK}'s, got the same"
    return ""


def show(rows: dict[str, Row]) -> None:
    """Print the table."""
    table = Table(title="projects of others, tried by their own tests")
    for column in ("project", "version", "", "tests", *COMPILERS):
        table.add_column(column)
    for name, row in sorted(rows.items()):
        stock = row["builds"][STOCK]
        sizes = (f"{build['code']:,}" for build in row["builds"].values())
        kind = ", ".join(filter(None, (row["language"], row["known"])))
        table.add_row(name, row["version"], kind, stock["counts"] or "pass", *sizes)
    Console(width=120).print(table)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
