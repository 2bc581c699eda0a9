# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A policy on random programs of csmith: what they print, and how large they are.

A program must print with the policy what it prints at -O0. All programs together may be 3 % larger than at
-Oz. Programs that run longer than five seconds at -O0, of which csmith makes some, are left out. Many are
measured at once, one per processor. Ctrl-C ends the measurement, and shows what it has found. So does a
compilation that fails, with a line that names the program and the command.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any, Final, NamedTuple

from bench.lib import Bar, command, require
from bench.lib.corpus import code_size
from passpilot.plugin.version import MAJOR
from tests.command import PASSPILOT

HEADERS: Final = ("-w", "-I/usr/include/csmith")
PATIENCE: Final = 5.0
"""Seconds at -O0; with optimization a program gets ten times as many."""
COMPILING: Final = 120.0
LARGEST: Final = 1.03


class Sizes(NamedTuple):
    """A program's machine code at -Oz and with the policy, and whether the latter prints the same."""

    level: int
    policy: int
    same: bool


def run(command: list[str], **options: Any) -> None:
    """Run a tool."""
    try:
        subprocess.run(command, check=True, timeout=COMPILING, stderr=subprocess.PIPE, text=True, **options)
    except subprocess.CalledProcessError as error:
        last = (error.stderr.strip().splitlines() or ["no message"])[-1]
        raise RuntimeError(f"{shlex.join(command)}: exit code {error.returncode}: {last}") from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RuntimeError(f"{shlex.join(command)}: {error}") from error


def compiled(source: Path, name: str, *compiler: str) -> Path:
    target = source.with_name(f"{name}.o")
    run([*compiler, *HEADERS, "-c", str(source), "-o", str(target)])
    return target


def printed(code: Path, patience: float) -> bytes | None:
    """What the linked program prints; its exit code comes last. None if it runs too long."""
    program = str(code.with_suffix(""))
    run([f"clang-{MAJOR}", str(code), "-o", program])
    with contextlib.suppress(subprocess.TimeoutExpired):
        done = subprocess.run([program], capture_output=True, timeout=patience, check=False)
        return done.stdout + str(done.returncode).encode()
    return None


def measured(seed: int, policy: str) -> Sizes | None:
    """The sizes of one program; None if it runs too long."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "random.c")
        with source.open("wb") as file:
            run(["csmith", "--seed", str(seed)], cwd=folder, stdout=file)
        expected = printed(compiled(source, "plain", f"clang-{MAJOR}", "-O0"), PATIENCE)
        if expected is None:
            return None
        level = compiled(source, "level", f"clang-{MAJOR}", "-Oz")
        small = compiled(source, "small", str(PASSPILOT), "cc", "-Oz", f"--policy={policy}")
        return Sizes(code_size(level), code_size(small), printed(small, 10 * PATIENCE) == expected)


@command
def main(policy: str = "@oz", count: int = 150, first: int = 1) -> None:
    found: dict[int, Sizes] = {}
    failure = ""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        seeds = range(first, first + count)
        work = {pool.submit(measured, seed, policy): seed for seed in seeds}
        with contextlib.suppress(KeyboardInterrupt):
            for done in as_completed(work):
                try:
                    if sizes := done.result():
                        found[work[done]] = sizes
                except RuntimeError as error:
                    failure = f"program {work[done]}: {error}"
                    break
        pool.shutdown(cancel_futures=True)
    if failure or not found:
        print(failure or "expected programs, got none that ends in time", file=sys.stderr)
        sys.exit(2 if failure else 1)
    wrong = [seed for seed, sizes in sorted(found.items()) if not sizes.same]
    larger = [sizes.policy / sizes.level for sizes in found.values() if sizes.policy > sizes.level]
    print(f"{len(found)} of {count} programs; print something else: {wrong or 'none'}")
    print(f"{len(larger)} are larger, the worst {max(larger, default=1):.3f}")
    together = sum(sizes.policy for sizes in found.values()) / sum(sizes.level for sizes in found.values())
    require(Bar("wrong programs", len(wrong), 0), Bar("all together", together, LARGEST, "-Oz"))
