# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Look for function bodies that programs in different parts of the split have in common: vendored copies.

    python -m tests.corpus.shared [--level Oz] [--least 40]

A body is the opcodes, types and small operands of its instructions before optimization. Functions of C++'s
standard library and of the drivers do not count: all programs have them.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Final, NamedTuple

from passpilot.plugin.errors import Error
from passpilot.plugin.isolated import run_isolated_together
from passpilot.plugin.module import Module
from passpilot.training.corpus.partition import SplitFile
from tests.corpus.build import is_built
from tests.corpus.programs import HERE, LEVELS, Program, all_programs

SPLIT: Final = HERE / "split.toml"
STANDARD: Final = ("_ZNSt", "_ZNKSt", "_ZSt", "_ZN9__gnu_cxx", "_ZNK9__gnu_cxx", "_ZTv", "_ZThn")
"""How the names of functions of the standard library, and of thunks, begin."""


class Body(NamedTuple):
    """A function: its program, its name, the number of its instructions, and a hash of them."""

    program: str
    name: str
    instructions: int
    hash: bytes


def bodies(program: str, path: Path, least: int) -> list[Body]:
    """The functions of a module with at least so many instructions."""
    found = []
    for function in Module.read(path).functions:
        if (
            function.is_declaration
            or function.instruction_count < least
            or function.name.startswith(STANDARD)
        ):
            continue
        digest = hashlib.sha256()
        for instruction in function.instructions:
            operands = ",".join(str(each.type) for each in instruction.operands)
            digest.update(f"{instruction.opcode} {instruction.type} {operands}\n".encode())
        found.append(Body(program, function.name, function.instruction_count, digest.digest()[:12]))
    return found


def bodies_of(program: Program, level: str, least: int) -> Iterator[Body]:
    """The functions of a program's own units."""
    drivers = {f"_driver/{each}" for each in program.driver.sources}
    paths = [program.unit(each, level) for each in program.sources() if each not in drivers]
    for start in range(0, len(paths), 2):
        runs = [partial(bodies, program.name, path, least) for path in paths[start : start + 2]]
        for each in run_isolated_together("shared", runs, 300):
            if isinstance(each, Error):
                raise each
            yield from each


def common(level: str, least: int) -> dict[frozenset[str], list[tuple[Body, Body]]]:
    """The pairs of equal bodies by their two programs, which are in different parts."""
    part = {name: part for part, names in SplitFile.read(str(SPLIT)).parts.items() for name in names}
    by_hash: dict[bytes, dict[str, Body]] = defaultdict(dict)
    for program in all_programs().values():
        if is_built(program):
            for body in bodies_of(program, level, least):
                by_hash[body.hash].setdefault(body.program, body)
    shared: dict[frozenset[str], list[tuple[Body, Body]]] = defaultdict(list)
    for same in by_hash.values():
        for one, other in combinations(same.values(), 2):
            if part[one.program] != part[other.program]:
                shared[frozenset((one.program, other.program))].append((one, other))
    return shared


def main() -> int:
    """Entry point of the command; the exit code is 1 if there are common bodies."""
    parser = argparse.ArgumentParser(description="Look for function bodies that parts of the split share.")
    parser.add_argument("--level", choices=LEVELS, default="Oz")
    parser.add_argument("--least", type=int, default=40, metavar="N", help="instructions of a body (40)")
    args = parser.parse_args()
    for program in all_programs().values():
        if not is_built(program):
            print(f"shared: {program.name} is not built and does not count", file=sys.stderr)
    shared = common(args.level, args.least)
    for programs, pairs in sorted(shared.items(), key=lambda each: sorted(each[0])):
        print(f"{' and '.join(sorted(programs))}: {len(pairs)} bodies")
        for one, other in sorted(pairs, key=lambda each: -each[0].instructions)[:5]:
            print(f"  {one.instructions:5} {one.program}:{one.name} {other.program}:{other.name}")
    print(f"{sum(map(len, shared.values()))} common bodies of {args.least} instructions or more")
    return 1 if shared else 0


if __name__ == "__main__":
    sys.exit(main())
