# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a page of the documentation: writes its files, runs its commands, compares their output."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tests.command import GENEROUS, PASSPILOT
from tests.corpus.build import bindir

DOCS: Final = Path(__file__).parents[2] / "docs"
BLOCK: Final = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TITLE: Final = re.compile(r"(?:# |// |; |/\* )([\w.]+\.\w+)(?: \*/)?\n")
PATH: Final = os.pathsep.join([str(PASSPILOT.parent), str(bindir()), os.environ["PATH"]])


def run_page(page: Path, folder: Path, **variables: str) -> int:
    """Follow a page in a folder; returns how many outputs were compared.

    A block whose first line is a comment with a file name becomes that file. The commands of an `sh` block
    must succeed, and print what the `text` block behind them has. `variables` are environment variables.
    """
    compared = 0
    blocks = BLOCK.findall(page.read_text())
    for (language, text), (after, said) in zip(blocks, [*blocks[1:], ("", "")], strict=True):
        if match := TITLE.match(text):
            (folder / match[1]).write_text(text)
        elif language == "sh":
            out = run(text, folder, variables)
            if after == "text":
                assert out.replace(f"{folder}/", "") == said, text
                compared += 1
    return compared


def run(commands: str, folder: Path, variables: Mapping[str, str]) -> str:
    """The standard output of commands, all of which must succeed."""
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", commands],
        cwd=folder,
        env={**os.environ, "PATH": PATH, **variables},
        capture_output=True,
        text=True,
        timeout=GENEROUS,
        check=False,
    )
    assert done.returncode == 0, (commands, done.stderr)
    return done.stdout
