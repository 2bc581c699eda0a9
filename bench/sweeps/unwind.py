# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random exception programs with smaller unwind tables: all must print what they print with stock clang's.

Ctrl-C ends the sweep, and shows what it has found.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from bench.lib import Bar, command, require
from tests.plugin.test_unwind_programs import compared


def agrees(seed: int) -> bool:
    """Whether a program prints the same."""
    with tempfile.TemporaryDirectory() as folder:
        stock, small = compared(seed, Path(folder))
    if stock != small:
        print(f"seed {seed}: other output", file=sys.stderr)
    return stock == small


@command
def main(count: int = 2000, first: int = 1, jobs: int = 0) -> None:
    agreed = []
    with ThreadPoolExecutor(jobs or os.cpu_count()) as pool, contextlib.suppress(KeyboardInterrupt):
        programs = [pool.submit(agrees, seed) for seed in range(first, first + count)]
        for done in as_completed(programs):
            agreed.append(done.result())
            if len(agreed) % 100 == 0:
                print(f"{len(agreed):,} programs, {agreed.count(False)} wrong", file=sys.stderr, flush=True)
    print(f"{len(agreed):,} programs")
    require(Bar("programs that print something else", agreed.count(False), 0))
