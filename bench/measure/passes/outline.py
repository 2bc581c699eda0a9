# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures how much smaller programs of the corpus are with `advised-outliner` and `advised-outline`.

Every program is compiled by default<Oz> for x86-64, where the outliner does not run by itself. Then the
outliner runs everywhere but in functions that a policy closes: ``random:SEED`` for every seed, of which the
best counts, and fixed rules. For each program, the rule that is best on the others is applied to it: what a
fixed policy gains on programs that it was not selected on. The figures are bytes of machine code. The
programs of the best seed and of the rule are linked and run: their output must be the corpus's.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from bench.lib import command, geometric_means, show
from bench.lib.corpus import best_elsewhere, built, check_output
from passpilot import OUTLINE, OUTLINER, Module, emit, optimize
from passpilot.training.rewards import code_bytes

if TYPE_CHECKING:
    from passpilot.runners.python import Observation
    from passpilot.runners.spec import RunnerLike
    from tests.corpus.programs import Program

DEFAULT: Final = ("picosat", "libyaml", "lua", "lz4", "box2d", "re2")
BEST: Final = "best of random"
HELD_OUT: Final = "rule of the others"


def outside_loops(obs: Observation) -> bool:
    return obs["loop_depth"].item() == 0


def not_hot(obs: Observation) -> bool:
    """Functions none of whose blocks runs more than ten times per call."""
    return obs["hottest"].item() <= 10


def repetitive(obs: Observation) -> bool:
    """Functions with a repeated sequence of eight instructions."""
    return obs["longest"].item() >= 8


RULES: Final[Mapping[str, Callable[[Observation], bool]]] = {
    "everywhere": lambda _: True,
    "outside loops": outside_loops,
    "not in hot functions": not_hot,
    "where much is repeated": repetitive,
}


def outlined(start: Module, runner: RunnerLike) -> bytes:
    """The object of a copy of the module, outlined where a runner allows it."""
    advisors = [OUTLINER.advisor("const:1"), OUTLINE.advisor(runner)]
    return emit(start.copy(), advisors=advisors, relocation_model="pic")


def measure(program: Program, start: Module, seeds: int) -> dict[str, float]:
    """The sizes of one program: that of -Oz, and those by policy relative to it."""
    oz = code_bytes(emit(start.copy(), relocation_model="pic"))
    row = {"-Oz": oz} | {name: code_bytes(outlined(start, rule)) / oz for name, rule in RULES.items()}
    random = {seed: code_bytes(outlined(start, f"random:{seed}")) for seed in range(seeds)}
    best = min(random, key=random.__getitem__)
    check_output(program, outlined(start, f"random:{best}"), f"seed {best}")
    row[BEST] = random[best] / oz
    print(program.name, row, file=sys.stderr, flush=True)
    return row


@command
def main(seeds: int = 20, *names: str) -> None:
    programs = built(names or DEFAULT)
    modules = {program.name: Module.read(program.whole("Oz")) for program in programs}
    for module in modules.values():
        optimize(module, "default<Oz>")
    rows = {program.name: measure(program, modules[program.name], seeds) for program in programs}
    for program in programs:
        rule = best_elsewhere(rows, program.name, RULES)
        check_output(program, outlined(modules[program.name], RULES[rule]), rule)
        rows[program.name][HELD_OUT] = rows[program.name][rule]
    means = geometric_means(rows.values(), (*RULES, BEST, HELD_OUT))
    show("machine code relative to -Oz", "program", rows, means)
