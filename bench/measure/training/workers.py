# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How much faster two workers of `passpilot tune` compile than one.

Every unit of Lua is compiled with LLVM's own decisions by its engine, with one worker and with two, in turns.
The figure is the median of the ratios.
"""

from __future__ import annotations

from functools import partial

from bench.lib import Bar, command, in_turns, medians, ratio, seconds, settle
from bench.lib.corpus import built, checked
from passpilot.plugin.module import Module
from passpilot.training.machines.local import Machines
from passpilot.training.tuning.engine import Engine
from passpilot.training.tuning.unit import LLVMS_OWN, Unit


def compile_all(units: list[Unit], jobs: int) -> None:
    choices = [(number, LLVMS_OWN) for number in range(len(units))]
    checked(Engine(units, Machines(jobs)).compile(choices))


@command
def main(rounds: int = 5) -> None:
    (program,) = built(["lua"])
    units = [Unit(Module.read(program.unit(source, "Oz")), "default<Oz>") for source in program.sources()]
    compile_all(units, 2)  # once, so that files are in memory
    counts = {"one worker": 1, "two workers": 2}
    runs = {name: partial(seconds, partial(compile_all, units, jobs)) for name, jobs in counts.items()}
    times = in_turns(runs, rounds)
    print(*(f"{name}: {value:.2f} s" for name, value in medians(times).items()), sep="   ")
    faster = ratio(times["one worker"], times["two workers"])
    settle(Bar("two workers of `tune`, times as fast", faster, 1.8, "one worker", least=True))
