# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures what `advised-pipeline` can gain over -Oz, with random search in place of a model.

Every program of the corpus is compiled by default<Oz> once; from that result, `advised-pipeline` runs with
``random:SEED`` for every seed, and code generation follows. The figures are the bytes of machine code of -Oz
alone, and relative to them the best seed, the median, and each of the pipelines of `HEADS` in front of
default<Oz>; 0 seeds measure only the latter. The best programs are linked with their libraries and run: their
output must be the corpus's. Target: the best of 50 at least 2 % below -Oz on two programs.
"""

from __future__ import annotations

import statistics
import sys

from rich.progress import track

from bench.lib import command, geometric_means, show
from bench.lib.corpus import built, check_output
from passpilot import Module, emit, optimize
from passpilot.features.llvm.phases import HEADS
from passpilot.passes.shipped.pipeline import MODULE
from passpilot.plugin.errors import CompilationError
from passpilot.training.rewards import code_bytes
from tests.corpus.programs import Program


def code_of(module: Module) -> bytes:
    return emit(module, relocation_model="pic", isolated=True)


def advised(start: Module, seed: int) -> bytes:
    """The object file of a copy of the module after the random sequence of a seed."""
    module = start.copy()
    optimize(module, "advised-pipeline", [MODULE.point.advisor(f"random:{seed}")], isolated=True)
    return code_of(module)


def headed(program: Program, head: str) -> int:
    """The size of a program with a pipeline in front of default<Oz>."""
    module = Module.read(program.whole("Oz"))
    choice = MODULE.table.index(head) + 1
    at = {"pipeline-start": "advised-pipeline{budget=1}"}
    optimize(module, "default<Oz>", [MODULE.point.advisor(f"const:{choice}")], at=at)
    code = code_of(module)
    check_output(program, code, head)
    return code_bytes(code)


def measure(program: Program, seeds: int) -> dict[str, float]:
    """The sizes of one program: that of -Oz, and others relative to it."""
    start = Module.read(program.whole("Oz"))
    optimize(start, "default<Oz>")
    oz = code_bytes(code_of(start.copy()))
    row: dict[str, float] = {"-Oz": oz} | {head: headed(program, head) / oz for head in HEADS}
    sizes = {}
    for seed in track(range(seeds), program.name):
        try:
            sizes[seed] = code_bytes(advised(start, seed))
        except CompilationError as error:
            print(f"{program.name}: seed {seed}: {error}", file=sys.stderr)
    if sizes:
        best = min(sizes, key=sizes.__getitem__)
        check_output(program, advised(start, best), f"seed {best}")
        row |= {"best": sizes[best] / oz, "median": statistics.median(sizes.values()) / oz}
    return row


@command
def main(seeds: int = 50, *programs: str) -> None:
    rows = {program.name: measure(program, seeds) for program in built(programs or ("picosat", "libyaml"))}
    columns = [column for column in next(iter(rows.values())) if column != "-Oz"]
    means = geometric_means(rows.values(), columns)
    show(f"machine code relative to -Oz; {seeds} seeds", "program", rows, means)
