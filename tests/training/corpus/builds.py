# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the tests of corpora share: small sources, and builds that are recorded."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tests.command import GENEROUS, PASSPILOT
from tests.corpus.build import bindir

SOURCES: Final[Mapping[str, str]] = {
    "main.c": "int twice(int); int main(int c, char **v) { return twice(c) - 2 * c; }\n",
    "twice.c": "int add(int, int); int twice(int x) { return add(x, x); }\n",
    "add.c": "static int plain(int a, int b) { return a + b; }\n"
    "int add(int a, int b) { return plain(a, b); }\n",
}
"""A program of three units."""

MAKEFILE: Final = """\
CFLAGS = -Oz -ffunction-sections
program: main.o libtwice.a
	$(CC) -Wl,--gc-sections main.o -L. -ltwice -lm -o $@
libtwice.a: twice.o add.o
	ar rc $@ $^
"""


def environment(**variables: str) -> dict[str, str]:
    """That of a build: passpilot and LLVM's tools are on the PATH."""
    return {**os.environ, "PATH": f"{PASSPILOT.parent}:{bindir()}:{os.environ['PATH']}", **variables}


def run(*command: str | Path, cwd: Path, **variables: str) -> subprocess.CompletedProcess[bytes]:
    """Run a command of a build, which must succeed."""
    done = subprocess.run(
        [str(each) for each in command],
        cwd=cwd,
        env=environment(**variables),
        capture_output=True,
        timeout=GENEROUS * 4,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    return done


def write(folder: Path, sources: Mapping[str, str]) -> Path:
    """The folder with these files."""
    for name, text in sources.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def make_project(folder: Path) -> tuple[Path, Path]:
    """Build the program of three units by make, recorded; returns the folders of sources and recording."""
    sources = write(folder / "source", {**SOURCES, "Makefile": MAKEFILE})
    recording = folder / "recording"
    run("make", "-j2", f"CC=passpilot cc --record={recording}", cwd=sources)
    return sources, recording


def recorded(recording: Path) -> list[dict[str, object]]:
    """The commands in a recording."""
    return [json.loads(path.read_text()) for path in sorted((recording / "commands").iterdir())]
