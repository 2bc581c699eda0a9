# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Builds Debian packages with and without advice, and runs their own tests.

usage: python -m bench.sweeps.debian FOLDER [PACKAGE ...] [--timeout=SECONDS] [--part=NAME]
           [--again=untested|lacking] [--levels] [--sealed]

The packages of the lists beside this file, the smallest first and the part `test` last, or the named ones.
Every package is recorded at -Oz, and its corpus verified; built with clang-22 and R1's flags, where its tests
run twice; and built with the same flags with random advice and with `@oz`. Sizes are those of all that it
installs. bench/results/debian.jsonl has a line of every package that is listed, and the next call goes on
behind the last. --again=untested takes those that were recorded and ran no test once more, and
--again=lacking those of which the mirror had no source, or not all that the build needs. --levels builds what
was recorded at -Os, at -O2 and with `--unwind=faults`, and adds their sizes to the lines.

The part `sealed` is opened by --sealed alone, once, and bench/results/sealed.json says when; that is for
`make release-figures`.
"""

from __future__ import annotations

import datetime
import json
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from importlib.metadata import version
from itertools import zip_longest
from pathlib import Path
from typing import Final

from bench.lib import RESULTS, command, read, write
from bench.sweeps.debian.witness import Witnessed, line, witness
from bench.sweeps.debian.witness import levels as witness_levels
from passpilot.plugin.errors import Error
from passpilot.plugin.files import make_folder, write_file
from passpilot.training.corpus.debian.package import DebianPackage
from passpilot.training.corpus.debian.system import DebianSystem

OPEN: Final = ("train", "validation", "reserve", "earlier", "test")
SEALED: Final = "sealed"
ROWS: Final = RESULTS / "debian.jsonl"
OPENED: Final = "sealed.json"
AGAIN: Final = ("untested", "lacking")

Line = dict[str, object]


def listed(part: str) -> Iterator[Witnessed]:
    """The packages of a part, as its list has them."""
    for text in Path(__file__).with_name(f"{part}.txt").read_text().splitlines():
        name, _, kind = text.partition("#")
        if name.strip():
            language, _, domain = kind.strip().partition(", ")
            yield Witnessed(name.strip(), part, language, domain)


def chosen(names: tuple[str, ...], part: str) -> list[Witnessed]:
    """The packages of a call, the smallest first; those of the part `test` are the last."""
    parts = [[part]] if part else [OPEN[:-1], OPEN[-1:]]
    turns = (turn for group in parts for turn in zip_longest(*map(listed, group)))
    return [row for turn in turns for row in turn if row and (not names or row.package in names)]


def open_sealed() -> str:
    """Write down that the sealed part is opened; the process ends if that was for an earlier release."""
    release = version("passpilot")
    opened = read(OPENED, {}) or {
        "release": release,
        "opened": f"{datetime.datetime.now(datetime.UTC):%F %H:%M}",
    }
    if opened["release"] != release:
        sys.exit(f"the sealed packages were opened for {opened['release']}: a release needs others")
    write(OPENED, opened)
    return SEALED


def read_lines(rows: Iterable[Witnessed]) -> dict[str, Line]:
    """The lines that are there, of these packages, by package."""
    names = {row.package for row in rows}
    lines = map(json.loads, ROWS.read_text().splitlines()) if ROWS.exists() else []
    return {str(found["package"]): found for found in lines if found["package"] in names}


def write_lines(done: Mapping[str, Line]) -> None:
    """Write the lines of all packages."""
    write_file(str(ROWS), "".join(f"{json.dumps(found)}\n" for found in done.values()))


def add_levels(
    rows: Iterable[Witnessed], done: dict[str, Line], system: DebianSystem, home: Path, timeout: float
) -> None:
    """Add the sizes of other builds to the lines of packages that install the same files with all of them."""
    for row in rows:
        found = done.get(row.package, {})
        sizes = found.get("sizes")
        if not isinstance(sizes, dict) or not sizes or "-O2" in sizes:
            continue
        try:
            more = witness_levels(DebianPackage(row.package, system, home / row.package, timeout))
        except Error as error:
            print(f"{row.package}: {error}", flush=True)
            continue
        counts = {each.pop("files") for each in more.values()}
        if found.get("files") in (0, *counts):
            done[row.package] = {**found, "sizes": {**sizes, **more}}
            write_lines(done)
        print(f"{row.package}: {', '.join(more)}", flush=True)


def is_due(found: Line | None, again: str) -> bool:
    """Whether a package is to be tried, of which there may be a line."""
    if found is None:
        return not again
    if again == "lacking":
        return not found["is_fetched"]
    return again == "untested" and bool(found["units"]) and not found["tests"]


@command
def main(
    folder: str = "build/debian",
    *names: str,
    timeout: float = 300.0,
    part: str = "",
    again: str = "",
    levels: bool = False,
    sealed: bool = False,
) -> None:
    if part == SEALED:
        sys.exit("the sealed packages are opened by `make release-figures`")
    if again not in ("", *AGAIN):
        sys.exit(f"--again: expected {' or '.join(AGAIN)}, got {again!r}")
    rows = chosen(names, open_sealed() if sealed else part)
    home = Path(folder).absolute()
    make_folder(str(home))
    system = DebianSystem.made(
        home / ".system-bookworm", "bookworm", "http://deb.debian.org/debian", home / ".system-bookworm.log"
    )
    opened = [SEALED] if sealed or (RESULTS / OPENED).exists() else []
    done = read_lines(row for part in (*OPEN, *opened) for row in listed(part))
    if levels:
        add_levels(rows, done, system, home, timeout)
        return
    for row in rows:
        if row.package not in names and not is_due(done.get(row.package), again):
            continue
        start = time.monotonic()
        found = witness(DebianPackage(row.package, system, home / row.package, timeout), row)
        done[row.package] = line(replace(found, seconds=round(time.monotonic() - start, 1)))
        write_lines(done)
        said = found.differences or found.problem or "no differences"
        print(f"{row.package}: {found.units} units, {found.tests} tests, {said}", flush=True)
