# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A policy on random programs of csmith: what they print, and how large they are.

A program must print with the policy what it prints at -O0. All programs together may be 3 % larger than at
-Oz. Programs that run longer than five seconds at -O0, of which csmith makes some, are left out. Many are
measured at once, one per processor. Ctrl-C ends the measurement, and shows what it has found. So does a
compilation that fails, with exit code 2 and a line that names the program and the command.

usage: python -m bench.sweeps.csmith [POLICY [COUNT [FIRST]]]    (@oz, 150 programs, from seed 1)
"""

from __future__ import annotations

import contextlib
import os
import shlex
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from passpilot.training.rewards import code_bytes

PASSPILOT: Final = str(Path(sys.executable).with_name("passpilot"))
HEADERS: Final = ("-w", "-I/usr/include/csmith")
PATIENCE: Final = 5.0
"""Seconds at -O0; with optimization a program gets ten times as many."""
COMPILING: Final = 120.0
LARGEST: Final = 1.03


@dataclass(frozen=True, slots=True)
class Sizes:
    """A program's machine code at -Oz and with the policy, and whether the latter prints the same."""

    level: int
    policy: int
    same: bool


class ToolError(Exception):
    """A compiler, the linker or csmith has failed."""


def run(command: list[str], **options: Any) -> None:
    """Run a tool.

    Raises:
        ToolError: it has failed, or was not ready in time.
    """
    try:
        subprocess.run(command, check=True, timeout=COMPILING, stderr=subprocess.PIPE, text=True, **options)
    except subprocess.CalledProcessError as error:
        last = (error.stderr.strip().splitlines() or ["no message"])[-1]
        raise ToolError(f"{shlex.join(command)}: exit code {error.returncode}: {last}") from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ToolError(f"{shlex.join(command)}: {error}") from error


def compiled(source: Path, name: str, *compiler: str) -> Path:
    """The object file that a compiler makes."""
    target = source.with_name(f"{name}.o")
    run([*compiler, *HEADERS, "-c", str(source), "-o", str(target)])
    return target


def printed(made: Path, patience: float) -> bytes:
    """What the linked program prints; its exit code comes last."""
    program = made.with_suffix("")
    run(["clang-22", str(made), "-o", str(program)])
    done = subprocess.run([str(program)], capture_output=True, timeout=patience, check=False)
    return done.stdout + str(done.returncode).encode()


def measured(seed: int, policy: str) -> Sizes | None:
    """The sizes of one program; None if it runs too long."""
    with tempfile.TemporaryDirectory() as folder:
        return measured_in(Path(folder), seed, policy)


def measured_in(folder: Path, seed: int, policy: str) -> Sizes | None:
    """The same, with the program's files in a folder."""
    source = folder / "random.c"
    with source.open("wb") as file:
        run(["csmith", "--seed", str(seed)], cwd=folder, stdout=file)
    try:
        expected = printed(compiled(source, "plain", "clang-22", "-O0"), PATIENCE)
    except subprocess.TimeoutExpired:
        return None
    level = compiled(source, "level", "clang-22", "-Oz")
    small = compiled(source, "small", PASSPILOT, "cc", "-Oz", f"--policy={policy}")
    try:
        same = printed(small, 10 * PATIENCE) == expected
    except subprocess.TimeoutExpired:
        same = False
    return Sizes(code_bytes(level.read_bytes()), code_bytes(small.read_bytes()), same)


def main(policy: str = "@oz", count: str = "150", first: str = "1") -> int:
    """Measure the programs; returns 1 if one is wrong, or all together are too large, 2 if a tool fails."""
    found: dict[int, Sizes] = {}
    failed = 0
    seeds = range(int(first), int(first) + int(count))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        work = {pool.submit(measured, seed, policy): seed for seed in seeds}
        with contextlib.suppress(KeyboardInterrupt):
            for done in as_completed(work):
                try:
                    if sizes := done.result():
                        found[work[done]] = sizes
                except ToolError as error:
                    print(f"bench_csmith: program {work[done]}: {error}", file=sys.stderr)
                    failed = 2
                    break
        pool.shutdown(cancel_futures=True)
    if not found:
        if not failed:
            print("bench_csmith: expected programs, got none that ends in time", file=sys.stderr)
        return failed or 1
    wrong = [seed for seed, sizes in sorted(found.items()) if not sizes.same]
    ratio = sum(each.policy for each in found.values()) / sum(each.level for each in found.values())
    larger = sum(each.policy > each.level for each in found.values())
    worst = max(each.policy / each.level for each in found.values())
    print(f"{len(found)} of {count} programs; {len(wrong)} print something else: {wrong}")
    print(f"together {ratio:.4f} of -Oz; {larger} are larger, the worst {worst:.3f}")
    return failed or (1 if wrong or ratio > LARGEST else 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
