# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compile the corpus to the bitcode that clang hands to the pass pipeline, per unit and linked whole.

    python -m tests.corpus.build                     all programs at Oz and O2
    python -m tests.corpus.build --only zstd --print  one program; prints where its linked bitcode is
    python -m tests.corpus.build --more              the programs of more.toml, too, which no test needs

Everything is kept in the user's cache and made once per content of its spec, drivers and compiler version.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import os
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Final

from passpilot.plugin.version import MAJOR
from tests.corpus.fetch import CorpusError, run, unpack
from tests.corpus.programs import DRIVERS, LEVELS, Program, all_programs, cache_home, programs

# What -fembed-bitcode=all would embed: the module as the front end leaves it.
PREOPT: Final = ("-Xclang", "-disable-llvm-passes", "-c", "-emit-llvm", "-w")
FIXED_CLOCK: Final = ("-Wno-builtin-macro-redefined", '-D__DATE__="Jan  1 2025"', '-D__TIME__="00:00:00"')
JOBS: Final = len(os.sched_getaffinity(0))


@cache
def bindir() -> Path:
    """The directory of LLVM's own tools."""
    return Path(run([f"llvm-config-{MAJOR}", "--bindir"]).strip())


@cache
def _toolchain() -> str:
    return run([bindir() / "clang", "--version"]) + repr((PREOPT, FIXED_CLOCK))


def _key(program: Program) -> str:
    if program.part != "dev":  # what it prints does not change what is built
        program = replace(program, driver=replace(program.driver, stdout_sha256=""))
    digest = hashlib.sha256((_toolchain() + repr(program)).encode())
    if program.part != "dev":
        digest.update(repr((program.cxxflags, program.configured)).encode())
    for name in (*program.driver.sources, *program.driver.files, "gen.h"):
        digest.update((DRIVERS / name).read_bytes())
    return digest.hexdigest()


def _stamp(program: Program) -> Path:
    return program.source / ".built"


def is_built(program: Program) -> bool:
    """Whether the program's bitcode is there and made from the present spec, drivers and compiler."""
    stamp = _stamp(program)
    return (
        stamp.exists()
        and stamp.read_text() == _key(program)
        and all(program.whole(v).exists() for v in LEVELS)
    )


def _compile(program: Program, source: str, level: str) -> Path:
    target = program.unit(source, level)
    partial = target.with_suffix(".partial")
    flags = [f"-{level}", *PREOPT, *FIXED_CLOCK, *program.flags(source)]
    run([bindir() / "clang", *flags, source, "-o", partial], cwd=program.source)
    return partial.replace(target)


def _link(program: Program, level: str, units: list[Path]) -> None:
    whole = program.whole(level)
    linked, partial = whole.with_suffix(".linked"), whole.with_suffix(".partial")
    run([bindir() / "llvm-link", *units, "-o", linked])
    internal = ["-passes=internalize,globaldce", "-internalize-public-api-list=main"]
    run([bindir() / "opt", *internal, linked, "-o", partial])
    linked.unlink()
    partial.replace(whole)


def _build_one(program: Program, pool: ThreadPoolExecutor) -> None:
    unpack(program)
    for level in LEVELS:
        program.bitcode(level).mkdir(parents=True, exist_ok=True)
        _link(program, level, list(pool.map(lambda s, v=level: _compile(program, s, v), program.sources())))
    _stamp(program).write_text(_key(program))


@contextmanager
def _lock() -> Iterator[None]:
    """One builder at a time on this machine; the others wait and then find everything built."""
    cache_home().mkdir(parents=True, exist_ok=True)
    with (cache_home() / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def build(names: Iterable[str] | None = None) -> list[str]:
    """Fetch and compile what is not built yet; the problems met, one text per program.

    Without names, these are the programs of `spec.toml`.
    """
    wanted = [all_programs()[name] for name in names or programs()]
    if all(map(is_built, wanted)):
        return []
    with _lock(), ThreadPoolExecutor(JOBS) as fetchers, ThreadPoolExecutor(JOBS) as compilers:
        missing = [p for p in wanted if not is_built(p)]
        fetched = {p.name: fetchers.submit(unpack, p) for p in missing}
        problems = []
        for program in missing:
            try:
                fetched[program.name].result()
                _build_one(program, compilers)
                print(f"corpus: built {program.name}", file=sys.stderr, flush=True)
            except (CorpusError, OSError) as error:
                problems.append(f"{program.name}: {error}")
        return problems


def main() -> int:
    """Entry point of the command."""
    parser = argparse.ArgumentParser(description="Fetch and compile the programs of the corpus.")
    parser.add_argument(
        "--only", metavar="NAME,...", help="these programs; among " + ", ".join(all_programs())
    )
    parser.add_argument("--more", action="store_true", help="the programs of more.toml, too")
    parser.add_argument("--print", action="store_true", help="print the path of each linked program")
    args = parser.parse_args()
    names = args.only.split(",") if args.only else list(all_programs() if args.more else programs())
    unknown = [name for name in names if name not in all_programs()]
    if unknown:
        parser.error(f"unknown program {unknown[0]!r}")
    problems = build(names)
    for problem in problems:
        print(f"corpus: {problem}", file=sys.stderr)
    if args.print:
        for name in names:
            print(*(all_programs()[name].whole(level) for level in LEVELS), sep="\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
