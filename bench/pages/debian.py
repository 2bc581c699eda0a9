# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What bench.sweeps.debian has recorded: a section of docs/reliability.md and one of docs/oz-results.md."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from statistics import geometric_mean, median
from typing import Any, Final

from bench.lib import RESULTS
from bench.pages.distribution import distribution
from bench.pages.markdown import table
from passpilot.training.ladder.ladder import SIZES

PLOT: Final = "docs/images/debian-sizes.svg"
SIDES: Final = ("R1", "@oz")
LANGUAGES: Final = {"c": "C", "c++": "C++"}

Row = dict[str, Any]


def read_rows() -> list[Row]:
    """The packages that were tried, by name."""
    rows = map(json.loads, (RESULTS / "debian.jsonl").read_text().splitlines())
    return sorted(rows, key=lambda row: str(row["package"]))


def witnesses(rows: Sequence[Row]) -> str:
    """The tests of all packages that have some, and the sums."""
    built = [row for row in rows if row["units"]]
    tried = [row for row in built if is_witness(row)]
    sums = [
        [
            text,
            *(f"{count:,}" for count in _counts([row for row in built if row["language"] in kind])),
        ]
        for text, kind in ((*((name, (key,)) for key, name in LANGUAGES.items()), ("all", tuple(LANGUAGES))))
    ]
    heads = ["", "packages", "units", "linked files", "broken units", "with tests", "tests", "flaky"]
    keys = ("package", "domain", "kind", "suite")
    by_package = [
        [*(row[key] for key in keys), f"{row['tests']:,}", str(row["flaky"]), _different(row)]
        for row in tried
    ]
    names = ["package", "section", "tests of", "suite with clang-22", "tests that pass", "flaky"]
    names.append("different with advice")
    failed = sum(not row["units"] and row["is_fetched"] and not row["is_ours"] for row in rows)
    lacking = sum(not row["is_fetched"] for row in rows)
    late = [row["package"] for row in built if row["tests"] and not is_witness(row)]
    said = f"Not built with all advice before the deadline: {', '.join(late)}.\n" if late else ""
    return f"""{table([*heads, "different"], sums)}
{failed} more packages do not build with clang-22, or not in time. Of {lacking} more the mirror lacked a file.
{said}{_faults(ours(rows))}
{table(names, by_package)}"""


def _counts(rows: Sequence[Row]) -> list[int]:
    sums = (sum(row[key] for row in rows) for key in ("units", "programs", "broken"))
    tests = (sum(row[key] for row in rows if is_witness(row)) for key in ("tests", "flaky"))
    return [len(rows), *sums, sum(map(is_witness, rows)), *tests, sum(map(different, rows))]


def is_witness(row: Row) -> bool:
    """Whether its tests ran with clang-22 and with all advice, or advice has kept them from that."""
    return bool(row["tests"] and (row["differences"] or not row["problem"]))


def different(row: Row) -> int:
    """How many tests pass with clang-22, and not with advice."""
    return sum(map(len, row["differences"].values()))


def _different(row: Row) -> str:
    return "; ".join(f"{name}: {len(found)}" for name, found in row["differences"].items()) or "0"


def ours(rows: Iterable[Row]) -> list[Row]:
    """The packages that clang-22 builds, and passpilot does not."""
    return [row for row in rows if row["is_ours"]]


def _faults(rows: Sequence[Row]) -> str:
    if not rows:
        return "What clang-22 builds, passpilot builds.\n"
    return f"Passpilot does not build what clang-22 builds: {', '.join(row['package'] for row in rows)}.\n"


def sizes(rows: Sequence[Row]) -> str:
    """The ratios of all four sizes, by language and by section, and by package."""
    found = measured(rows)
    groups = {name: [row for row in found if row["language"] == key] for key, name in LANGUAGES.items()}
    domains = sorted({row["domain"] for row in found})
    groups |= {domain: [row for row in found if row["domain"] == domain] for domain in domains}
    lines = [
        [name, str(len(group)), *(_spread(group, size) for size in SIZES)]
        for name, group in {"all": found, **groups}.items()
        if group
    ]
    larger = [row["package"] for row in found if ratio(row, "allocated") > 1]
    said = f"`@oz` makes these larger: {', '.join(larger)}." if larger else "`@oz` makes none of them larger."
    by_package = [
        [row["package"], row["domain"], f"{row['sizes']['R1']['allocated']:,}"]
        + [f"{row['sizes']['R1'][size] / row['sizes']['-Oz'][size]:.3f}" for size in SIZES]
        + [f"{ratio(row, size):.3f}" for size in SIZES]
        for row in found
    ]
    heads = ["package", "section", "bytes of R1"]
    heads += [f"{side} {text}" for side in ("R1 to -Oz", "`@oz` to R1") for text in SIZES.values()]
    return f"""{table(["", "packages", *SIZES.values()], lines)}
{said}

![The ratios of all packages](images/debian-sizes.svg)

{table(heads, by_package)}"""


def measured(rows: Iterable[Row]) -> list[Row]:
    """The packages with sizes of both sides."""
    return [row for row in rows if all(row["sizes"].get(side, {}).get("allocated") for side in SIDES)]


def plot(rows: Iterable[Row]) -> str:
    """How the ratios of what `@oz` makes to R1 are distributed."""
    found = measured(rows)
    groups = {f"allocated, {name}": [row for row in found if row["language"] == key]
              for key, name in LANGUAGES.items()}  # fmt: skip
    curves = {name: [ratio(row, "allocated") for row in group] for name, group in groups.items() if group}
    curves["xz, all"] = [ratio(row, "xz") for row in found]
    title = f"Installed programs and libraries of {len(found)} packages with @oz"
    return distribution(title, "size relative to R1; the curve is the share of packages", curves)


def ratio(row: Row, size: str) -> float:
    """A size of what `@oz` makes, relative to R1."""
    return float(row["sizes"]["@oz"][size]) / float(row["sizes"]["R1"][size])


def _spread(rows: Sequence[Row], size: str) -> str:
    values = [ratio(row, size) for row in rows]
    return f"{geometric_mean(values):.3f} ({min(values):.3f}, {median(values):.3f}, {max(values):.3f})"
