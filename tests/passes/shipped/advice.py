# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random answers at the points of the shipped passes, on programs whose output is known.

A case is one program and one seed, compiled in a process of its own. With the runner ``random:SEED`` at the
points of a `Trial`, the program must print what it prints without.

usage: python -m tests.passes.shipped.advice TRIAL csmith FIRST LAST   programs of csmith, one answer each
       python -m tests.passes.shipped.advice TRIAL corpus FIRST LAST [NAME...]   all programs of the corpus
       python -m tests.passes.shipped.advice --one TRIAL PROGRAM SEED
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import passpilot
from passpilot import Module, emit, optimize
from tests import stock
from tests.corpus.build import build
from tests.corpus.programs import programs
from tests.passes.allocation.allocated import by_llc, driver_output, link, printed

PATIENCE: Final = 3600.0
"""Seconds for one case."""


@dataclass(frozen=True)
class Trial:
    """Points to ask, and the passes that ask them by extension point."""

    points: tuple[str, ...]
    at: dict[str, str] = field(default_factory=dict)
    late: tuple[str, ...] = ()
    """Points that code generation asks."""
    fixed: dict[str, str] = field(default_factory=dict)
    """Points that code generation asks another runner."""


TRIALS: Final = {
    "distribute": Trial(
        ("advised-distribute", "advised-vectorize"),
        {"vectorizer-start": "advised-distribute,loop-distribute,advised-vectorize"},
    ),
    "outline": Trial((), late=("advised-outline",), fixed={"advised-outliner": "const:1"}),
    "vectorize": Trial(
        ("advised-vectorize", "advised-slp"), {"vectorizer-start": "advised-vectorize,advised-slp"}
    ),
}


@dataclass
class Outcome:
    """What came of some cases."""

    programs: int = 0
    decisions: int = 0
    wrong: list[str] = field(default_factory=list)


def compiled(trial: Trial, source: Path, seed: int) -> tuple[bytes, int]:
    """The object file of a module with random answers, and the number of answers."""
    module = Module.read(source)
    with ExitStack() as stack:
        early, late = (
            [stack.enter_context(passpilot.advisor(name, f"random:{seed}")) for name in names]
            for names in (trial.points, trial.late)
        )
        late += [stack.enter_context(passpilot.advisor(*each)) for each in trial.fixed.items()]
        optimize(module, "default<O3>", early, at=trial.at)
        code = emit(module, advisors=late, relocation_model="pic", opt_level=3)
        return code, sum(advisor.stats.decisions for advisor in (*early, *late))


def of_csmith(trial: Trial, seed: int, folder: Path) -> Outcome:
    """The outcome of a program of csmith; none if the program runs too long."""
    source, made = folder / "random.c", folder / "random.bc"
    command = ["csmith", "--seed", str(seed), "--max-funcs", "8"]
    source.write_bytes(subprocess.run(command, cwd=folder, capture_output=True, check=True).stdout)
    stock.run("clang", "-O2", *stock.CLANG, "-I/usr/include/csmith", source, "-o", made)
    try:
        expected = printed(link(by_llc(made, opt_level=0), folder), timeout=5)
    except subprocess.TimeoutExpired:
        return Outcome()
    objects, decisions = compiled(trial, made, seed)
    try:
        same = printed(link(objects, folder), timeout=60) == expected
    except subprocess.SubprocessError:
        same = False
    return Outcome(1, decisions, [] if same else [f"csmith {seed}"])


def of_corpus(trial: Trial, name: str, seed: int, folder: Path) -> Outcome:
    """The outcome of a program of the corpus."""
    assert not build([name])
    program = programs()[name]
    objects, decisions = compiled(trial, program.whole("O2"), seed)
    try:
        same = driver_output(program, objects, folder) == program.driver.stdout_sha256
    except subprocess.SubprocessError:
        same = False
    return Outcome(1, decisions, [] if same else [f"{name}, seed {seed}"])


def in_own_process(trial: str, program: str, seed: int) -> Outcome:
    """The outcome of one case, from a process of its own, which LLVM may end."""
    command = [sys.executable, "-m", "tests.passes.shipped.advice", "--one", trial, program, str(seed)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return Outcome(wrong=[f"{program}, seed {seed}: more than {PATIENCE:g} s"])
    if done.returncode:
        return Outcome(wrong=[f"{program}, seed {seed}: exit code {done.returncode}: {done.stderr[-300:]}"])
    return Outcome(**json.loads(done.stdout))


def of_seeds(trial: str, seeds: Iterable[int], names: Sequence[str] = ("csmith",)) -> Outcome:
    """The outcomes of several seeds on each of some programs."""
    total = Outcome()
    for seed in seeds:
        for name in names:
            one = in_own_process(trial, name, seed)
            total.programs += one.programs
            total.decisions += one.decisions
            total.wrong += one.wrong
            for problem in one.wrong:
                print(f"wrong: {problem}", file=sys.stderr, flush=True)
    return total


def main() -> None:
    """Print the outcome of one case as JSON, or the sum of several."""
    trial, program, *rest = sys.argv[2:] if sys.argv[1] == "--one" else sys.argv[1:]
    if sys.argv[1] == "--one":
        with tempfile.TemporaryDirectory() as made:
            folder, seed = Path(made), int(rest[0])
            if program == "csmith":
                print(json.dumps(vars(of_csmith(TRIALS[trial], seed, folder))))
            else:
                print(json.dumps(vars(of_corpus(TRIALS[trial], program, seed, folder))))
        return
    names = ("csmith",) if program == "csmith" else (rest[2:] or tuple(programs()))
    total = of_seeds(trial, range(*map(int, rest[:2])), names)
    print(f"{total.programs} programs, {total.decisions} decisions, {len(total.wrong)} wrong")


if __name__ == "__main__":
    main()
