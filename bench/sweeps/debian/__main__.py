# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Builds Debian packages with and without advice, and runs their own tests.

usage: python -m bench.sweeps.debian FOLDER [PACKAGE ...] [--timeout=SECONDS] [--part=NAME] [--sealed]

The packages of the lists beside this file, the smallest first and the part `test` last, or the named ones.
Every package is recorded at -Oz, and its corpus verified; built with clang-22 and R1's flags, where its tests
run twice; and built with the same flags with random advice and with `@oz`. Sizes are those of all that it
installs. bench/results/debian.jsonl has a line of every package, and the next call goes on behind the last.

The part `sealed` is opened by --sealed alone, once, and bench/results/sealed.json says when; that is for
`make release-figures`.
"""

from __future__ import annotations

import datetime
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from importlib.metadata import version
from itertools import zip_longest
from pathlib import Path
from typing import Final

from bench.lib import RESULTS, command, read, write
from bench.sweeps.debian.witness import Witnessed, line, witness
from passpilot.plugin.files import make_folder, write_file
from passpilot.training.corpus.debian.package import DebianPackage
from passpilot.training.corpus.debian.system import DebianSystem

SEALED: Final = "sealed"
ROWS: Final = RESULTS / "debian.jsonl"
OPENED: Final = "sealed.json"


def listed(part: str) -> Iterator[Witnessed]:
    """The packages of a part, as its list has them."""
    for text in Path(__file__).with_name(f"{part}.txt").read_text().splitlines():
        name, _, kind = text.partition("#")
        if name.strip():
            language, _, domain = kind.strip().partition(", ")
            yield Witnessed(name.strip(), part, language, domain)


def chosen(names: tuple[str, ...], part: str) -> list[Witnessed]:
    """The packages of a call, the smallest first; those of the part `test` are the last."""
    parts = [[part]] if part else [["train", "validation"], ["test"]]
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


@command
def main(
    folder: str = "build/debian", *names: str, timeout: float = 300.0, part: str = "", sealed: bool = False
) -> None:
    if part == SEALED:
        sys.exit("the sealed packages are opened by `make release-figures`")
    rows = chosen(names, open_sealed() if sealed else part)
    home = Path(folder).absolute()
    make_folder(str(home))
    system = DebianSystem.made(
        home / ".system-bookworm", "bookworm", "http://deb.debian.org/debian", home / ".system-bookworm.log"
    )
    texts = ROWS.read_text().splitlines() if ROWS.exists() else []
    done = {str(json.loads(text)["package"]): text for text in texts}
    for row in rows:
        if row.package not in names and '"is_fetched": true' in done.get(row.package, ""):
            continue
        start = time.monotonic()
        found = witness(DebianPackage(row.package, system, home / row.package, timeout), row)
        done[row.package] = json.dumps(line(replace(found, seconds=round(time.monotonic() - start, 1))))
        write_file(str(ROWS), "".join(f"{text}\n" for text in done.values()))
        said = found.differences or found.problem or "no differences"
        print(f"{row.package}: {found.units} units, {found.tests} tests, {said}", flush=True)
