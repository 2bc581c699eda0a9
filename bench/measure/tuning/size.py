# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures `passpilot size` on a program of 20 MB with 20,000 symbols, a part of LLVM: time and memory.

The bars are 2 s and 300 MB. The time is the least of the rounds, divided by `slowness`; Python with numpy and
stock mlir-opt start in turns with it. The memory is the most of the command's process.
"""

from __future__ import annotations

import subprocess
import tempfile
from functools import partial
from pathlib import Path
from typing import Final

from bench.lib import Bar, command, in_turns, settle, show, slowness, starts
from bench.lib.turns import used
from tests.command import PASSPILOT

PARTS: Final = ("AArch64CodeGen", "AArch64Desc", "CodeGen", "SelectionDAG")


def linked(folder: Path) -> Path:
    """A shared library of some of LLVM's archives."""
    libraries = subprocess.check_output(["llvm-config-22", "--libdir"], text=True).strip()
    archives = [f"{libraries}/libLLVM{part}.a" for part in PARTS]
    whole = ["--unresolved-symbols=ignore-all", "--whole-archive", *archives]
    subprocess.run(["ld.lld-22", "-shared", *whole, "-o", folder / "big"], check=True)
    return folder / "big"


@command
def main(rounds: int = 5) -> None:
    with tempfile.TemporaryDirectory() as name:
        program = linked(Path(name))
        size = partial(used, [PASSPILOT, "size", program])
        memory = size().memory / 1e6
        megabytes = program.stat().st_size / 1e6
        times = in_turns({"size": lambda: size().elapsed, **starts()}, rounds)
    seconds = min(times["size"]) / slowness(times)
    show(f"{megabytes:.0f} MB, least of {rounds}", "passpilot size", {"": {"seconds": seconds, "MB": memory}})
    settle(Bar("seconds for 20 MB", seconds, 2.0), Bar("MB of memory for 20 MB", memory, 300.0))
