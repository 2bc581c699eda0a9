# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The memory that commands take over a folder of many packages.

usage: python -m bench.measure.training.packages FOLDER [UNITS ...]

FOLDER is that of `passpilot corpus debian`. Its smallest corpus of more than one unit is laid down again and
again, by hard links, until there are UNITS units (40 and 400 unless given). The figure is the most memory of
any process of a command, with one job; a command that keeps a corpus in memory needs ten times more for ten
times the units. `read` is reading alone, also of 10,000 units.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from bench.lib import command
from passpilot.training.corpus.layout import DESCRIPTION, INNER, Corpus
from tests.command import PASSPILOT

READ: Final = "import sys; from passpilot.training.corpus.layout import Corpus; Corpus.read(sys.argv[1])"
MANY: Final = 10_000
"""Units that are only read."""


def lay_down(source: Path, folder: Path, units: int) -> Iterator[Path]:
    """Copies of a corpus as packages, until there are so many units."""
    count = len(Corpus.read(source).units)
    for number in range(-(-units // count)):
        target = folder / f"package{number}" / INNER
        for path in source.rglob("*"):
            if path.is_file():
                place = target / path.relative_to(source)
                place.parent.mkdir(parents=True, exist_ok=True)
                os.link(path, place)
        yield target


def peak(words: list[str]) -> int:
    """The most bytes of memory of a process of a command."""
    with subprocess.Popen(words, stdout=subprocess.DEVNULL) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(words)}: exit code {process.returncode}")
    return used.ru_maxrss * 1024


@command
def main(folder: str = "build/debian", *units: str) -> None:
    corpora = [path.parent for path in Path(folder).glob(f"*/{INNER}/{DESCRIPTION}")]
    sizes = {path: len(json.loads((path / DESCRIPTION).read_text())["modules"]) for path in corpora}
    source = min((path for path in corpora if sizes[path] > 1), key=sizes.__getitem__)
    counts = [*map(int, units or ("40", "400"))]
    for count in (*counts, MANY):
        with tempfile.TemporaryDirectory(dir=folder, prefix=".many-") as scratch:
            many = Path(scratch, "many")
            packages = len(list(lay_down(source, many, count)))
            commands = {
                "read": [sys.executable, "-c", READ, str(many)],
                "corpus stats": [str(PASSPILOT), "corpus", "stats", str(many)],
                "train data": [
                    str(PASSPILOT),
                    "train",
                    "data",
                    f"--corpus={many}",
                    "-j1",
                    "-o",
                    f"{scratch}/d",
                ],
            }
            for name, words in commands.items():
                if count == MANY and name != "read":
                    continue
                print(f"{packages} packages, {count} units: {name}: {peak(words) / 1e6:.0f} MB", flush=True)
