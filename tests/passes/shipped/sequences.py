# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random sequences of `advised-pipeline` and `advised-function-pipeline` on programs whose output is known.

A seed is one program, in a process of its own, with several sequences: mostly a program of csmith, every
20th time one of the corpus. After ``default<Oz>`` and a sequence, the program must print what it prints
without the sequence.

usage: python -m tests.passes.shipped.sequences FIRST LAST    for the seeds from FIRST to LAST - 1
       python -m tests.passes.shipped.sequences --one SEED    prints the result of one seed as JSON
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from passpilot import Module, optimize
from passpilot.passes.emit import emit
from passpilot.passes.shipped.pipeline import FUNCTION, MODULE
from tests import stock
from tests.corpus.build import build
from tests.corpus.programs import programs
from tests.passes.allocation.allocated import by_llc, driver_output, link, printed

SEQUENCES: Final = 9
"""Sequences of a program of csmith; a program of the corpus, which is larger, has three.

They are in turns of functions, of the module, and of the module in front of ``default<Oz>``.
"""
PATIENCE: Final = 900.0
"""Seconds for one program."""
CORPUS: Final = ("lz4", "libyaml", "picosat", "libsvm", "lua", "cmark-gfm")
CSMITH: Final = ("--max-funcs", "8", "--max-block-depth", "4")


@dataclass
class Result:
    """What came of the sequences of some seeds."""

    sequences: int = 0
    pipelines: Counter[str] = field(default_factory=Counter)
    """In how many sequences a pipeline of the table ran."""
    seconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    """The longest time that a pipeline took on one unit."""
    wrong: list[str] = field(default_factory=list)
    """The sequences after which a program printed something else, or did not compile."""


class Chance:
    """Chooses at random among the pipelines that are allowed, and measures them."""

    def __init__(self, table: tuple[str, ...], seed: int) -> None:
        self.table, self.chosen = table, list[str]()
        self.seconds = defaultdict[str, float](float)
        self._draw, self._since = random.Random(seed), 0.0

    def __call__(self, obs: Any) -> int:
        now = time.process_time()
        if self.chosen and obs["step"].item():
            last = self.chosen[-1]
            self.seconds[last] = max(self.seconds[last], now - self._since)
        allowed = obs["mask"].reshape(-1)[1:].nonzero()[0]
        if not allowed.size:
            return 0
        choice = int(self._draw.choice(allowed))
        self.chosen.append(self.table[choice])
        self._since = time.process_time()
        return choice + 1


def starts(source: Path) -> tuple[Module, Module]:
    """The module as it is, and after ``default<Oz>``."""
    fresh = Module.read(source)
    small = fresh.copy()
    optimize(small, "default<Oz>")
    return fresh, small


def after_sequence(fresh: Module, small: Module, seed: int, result: Result) -> bytes:
    """The object file of a module from `starts` after a sequence, at the place that the seed has."""
    place = ("functions", "behind", "in front")[seed % 3]
    phases = FUNCTION if place == "functions" else MODULE
    chance = Chance(phases.table, seed)
    with phases.point.advisor(chance) as advisor:
        if place == "in front":
            module = fresh.copy()
            optimize(module, "default<Oz>", [advisor], at={"pipeline-start": "advised-pipeline{budget=3}"})
        else:
            module = small.copy()
            name = phases.point.name
            optimize(module, f"function({name})" if phases is FUNCTION else name, [advisor])
    result.sequences += 1
    for text in {each if phases is MODULE else f"function({each})" for each in chance.chosen}:
        result.pipelines[text] += 1
    for text, seconds in chance.seconds.items():
        result.seconds[text] = max(result.seconds[text], seconds)
    return emit(module, relocation_model="pic")


def of_csmith(seed: int, folder: Path) -> Result:
    """The result for a program of csmith; without sequences if it runs too long."""
    result, source = Result(), folder / "random.c"
    command = ["csmith", "--seed", str(seed), *CSMITH]
    source.write_bytes(subprocess.run(command, cwd=folder, capture_output=True, check=True).stdout)
    made = folder / "random.bc"
    stock.run("clang", "-O2", *stock.CLANG, "-I/usr/include/csmith", source, "-o", made)
    try:
        expected = printed(link(by_llc(made, opt_level=0), folder), timeout=5)
    except subprocess.TimeoutExpired:
        return result
    fresh, small = starts(made)
    for number in range(SEQUENCES):
        objects = after_sequence(fresh, small, seed * SEQUENCES + number, result)
        try:
            same = printed(link(objects, folder), timeout=60) == expected
        except subprocess.SubprocessError:
            same = False
        if not same:
            result.wrong.append(f"csmith {seed}, sequence {number}")
    return result


def of_corpus(seed: int, folder: Path) -> Result:
    """The result for a program of the corpus."""
    result, name = Result(), CORPUS[seed // 20 % len(CORPUS)]
    assert not build([name])
    program = programs()[name]
    fresh, small = starts(program.whole("Oz"))
    for number in range(3):
        objects = after_sequence(fresh, small, seed * SEQUENCES + number, result)
        if driver_output(program, objects, folder) != program.driver.stdout_sha256:
            result.wrong.append(f"{name}, seed {seed}, sequence {number}")
    return result


def of_seed(seed: int) -> Result:
    """The result of a seed, from a process of its own, which LLVM may end."""
    command = [sys.executable, "-m", "tests.passes.shipped.sequences", "--one", str(seed)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return Result(wrong=[f"seed {seed}: more than {PATIENCE:g} s"])
    if done.returncode:
        return Result(wrong=[f"seed {seed}: exit code {done.returncode}: {done.stderr[-300:]}"])
    row = json.loads(done.stdout)
    pipelines, seconds = Counter(row.pop("pipelines")), defaultdict(float, row.pop("seconds"))
    return Result(**row, pipelines=pipelines, seconds=seconds)


def of_seeds(first: int, last: int) -> Result:
    """The results of several seeds together."""
    total = Result()
    for seed in range(first, last):
        one = of_seed(seed)
        total.sequences += one.sequences
        total.pipelines += one.pipelines
        total.wrong += one.wrong
        for each, seconds in one.seconds.items():
            total.seconds[each] = max(total.seconds[each], seconds)
        for problem in one.wrong:
            print(f"wrong: {problem}", file=sys.stderr, flush=True)
    return total


def main() -> None:
    """Print the result of one seed, or a table of several."""
    if sys.argv[1] == "--one":
        seed = int(sys.argv[2])
        with tempfile.TemporaryDirectory() as folder:
            print(json.dumps(vars((of_csmith if seed % 20 else of_corpus)(seed, Path(folder)))))
        return
    total = of_seeds(*map(int, sys.argv[1:3]))
    print(f"{total.sequences} sequences, {len(total.wrong)} wrong")
    for text in MODULE.table:
        print(f"{total.pipelines[text]:6} sequences, {total.seconds[text]:7.2f} s at most: {text}")


if __name__ == "__main__":
    main()
