# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles the units of a corpus again and compares them with what was recorded."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, NamedTuple

from passpilot.plugin.errors import Error, InputError
from passpilot.plugin.version import MAJOR
from passpilot.training.corpus.arguments import for_object
from passpilot.training.corpus.elf import code_hash
from passpilot.training.corpus.front_end import DEADLINE, failure
from passpilot.training.corpus.inspection import ModuleFacts, inspect_all
from passpilot.training.corpus.layout import Corpus, CorpusUnit, UnitOrigin

CLANG: Final = f"clang-{MAJOR}"


class Verdict(NamedTuple):
    """What came of a unit: what is wrong, or nothing, and whether its code was compared."""

    name: str
    problem: str
    compared: bool


def verify(corpus: Corpus, jobs: int, step: Callable[[], None] = lambda: None) -> Iterator[Verdict]:
    """Compile every unit and compare it; the verdicts come in order. `step` is called after each.

    A unit is broken if its bitcode or its arguments cannot be read, if the bitcode has another hash or
    target, if it does not compile, or if its machine code differs from that of the build's object.

    Raises:
        InputError: there is no clang.
    """
    compiler = shutil.which(CLANG)
    if compiler is None:
        raise InputError(f"corpus verify: {CLANG} is not on the PATH; sudo apt-get install {CLANG}")
    units, jobs = list(corpus.units.values()), jobs or len(os.sched_getaffinity(0))
    facts = inspect_all([(unit.name, unit.read) for unit in units])
    with (
        tempfile.TemporaryDirectory(prefix="passpilot-") as scratch,
        ThreadPoolExecutor(jobs) as pool,
    ):

        def judged(number: int, unit: CorpusUnit, found: ModuleFacts | Error) -> Verdict:
            origin = corpus.facts.origins.get(unit.name)
            output = os.path.join(scratch, f"{number}.o")
            problem = _before(corpus, unit, origin, found) or _compiled(compiler, unit, output)
            expected = origin.code_sha256 if origin and not problem else ""
            if expected and code_hash(Path(output).read_bytes()) != expected:
                problem = f"{unit.name}: expected the machine code of the build's object, got other code"
            if os.path.exists(output):
                os.unlink(output)
            return Verdict(unit.name, problem, bool(expected))

        waiting = [
            pool.submit(judged, number, unit, found)
            for number, (unit, found) in enumerate(zip(units, facts, strict=True))
        ]
        try:
            for verdict in waiting:
                yield verdict.result()
                step()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _before(corpus: Corpus, unit: CorpusUnit, origin: UnitOrigin | None, found: ModuleFacts | Error) -> str:
    """What is wrong with a unit without compiling it."""
    if isinstance(found, Error):
        return str(found)
    if origin and hashlib.sha256(unit.read()).hexdigest() != origin.sha256:
        return f"{unit.name}: expected the bitcode of hash {origin.sha256[:16]}, got another"
    if not unit.arguments:
        return f"{unit.name}: expected arguments of clang -cc1, got none"
    wanted = corpus.facts.target or unit.triple
    if wanted and found.triple != wanted:
        return f"{unit.name}: expected a module for {wanted}, got one for {found.triple or 'no target'}"
    return ""


def _compiled(compiler: str, unit: CorpusUnit, output: str) -> str:
    """Compile a unit; returns what went wrong."""
    index = [f"-fthinlto-index={unit.thinlto}", "-mllvm", "-thinlto-assume-merged"] if unit.thinlto else []
    words = ["clang", *for_object(unit.arguments), *index, "-x", "ir", str(unit.bitcode), "-o", output]
    try:
        done = subprocess.run(
            words,
            executable=compiler,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=DEADLINE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"{unit.name}: expected it to compile within {DEADLINE:g} s, got no end"
    except (OSError, ValueError) as error:
        return f"{unit.name}: expected it to compile, got: {error}"
    if done.returncode:
        return f"{unit.name}: expected it to compile, got {failure(done.returncode, done.stderr)}"
    return ""
