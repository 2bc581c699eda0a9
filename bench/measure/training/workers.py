# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How much faster two workers of `passpilot tune` compile than one.

usage: python -m bench.measure.training.workers [ROUNDS]

Every unit of Lua is compiled with LLVM's own decisions by its engine, with one
worker and with two, in turns, ROUNDS (5) times. Prints the median of the ratios of a round, and writes
bench/results/workers.json. Fails below LEAST.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from typing import Final

from bench.lib.bars import Bar, arguments, settle
from bench.lib.records import ROOT
from passpilot.plugin.errors import Error
from passpilot.plugin.module import Module
from passpilot.training.machines.local import ThisMachine
from passpilot.training.tuning.engine import Engine
from passpilot.training.tuning.unit import LLVMS_OWN, Unit
from tests.corpus.build import build
from tests.corpus.programs import programs

LEAST: Final = 1.8
RESULTS: Final = ROOT / "bench/results/workers.json"


def main() -> None:
    """Measure, print, write."""
    rounds = int((*arguments(), "5")[0])
    if problems := build(["lua"]):
        sys.exit(f"bench_workers: {problems[0]}")
    program = programs()["lua"]
    units = [Unit(Module.read(program.unit(each, "Oz")), "default<Oz>") for each in program.sources()]
    compiled(units, 2)  # once, so that files are in memory
    ratios = []
    for _ in range(rounds):
        one, two = compiled(units, 1), compiled(units, 2)
        ratios.append(one / two)
        print(f"one worker {one:.2f} s, two {two:.2f} s: {one / two:.2f}", flush=True)
    median = statistics.median(ratios)
    print(f"tune: two workers are {median:.2f} times as fast as one ({len(units)} units, {rounds} rounds)")
    RESULTS.write_text(json.dumps({"units": len(units), "ratios": ratios, "median": median}, indent=1) + "\n")
    settle(Bar("two workers of `tune`, times as fast", median, LEAST, "one worker", least=True))
    if median < LEAST:
        sys.exit(f"bench_workers: expected at least {LEAST}, got {median:.2f}")


def compiled(units: list[Unit], jobs: int) -> float:
    """The seconds that all units take."""
    began = time.monotonic()
    made = Engine(units, ThisMachine(jobs)).compile([(number, LLVMS_OWN) for number in range(len(units))])
    if wrong := [each for each in made if isinstance(each, Error)]:
        sys.exit(f"bench_workers: {wrong[0]}")
    return time.monotonic() - began


if __name__ == "__main__":
    main()
