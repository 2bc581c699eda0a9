# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The units on which policies are made, and what a recipe makes of them."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from bench.lib.corpus import built, checked, part
from passpilot import PriorityAdvisor
from passpilot.passes.emit import generate
from passpilot.passes.optimize import optimize
from passpilot.plugin import _core
from passpilot.plugin.compile import PipelineOptions, file_type, llvm_options
from passpilot.plugin.isolated import run_isolated_together
from passpilot.plugin.module import Module
from passpilot.training.policy_folder import RecipeChoice
from passpilot.training.rewards import code_bytes

DEADLINE: Final = 600.0
LARGEST_UNIT: Final = 1_000_000
"""Bytes of bitcode; larger units take too long."""
SMALL: Final = ("lz4", "md4c")
"""Programs of a run that takes minutes."""


class Unit(NamedTuple):
    """A unit of a training program, before optimization."""

    program: str
    bitcode: Path


class Outcome(NamedTuple):
    size: float
    spills: float
    """The weighed cost of spill code; 0 unless it was measured."""


@dataclass(slots=True)
class RecipeCompiler:
    """Compiles units by recipes, and remembers the outcomes.

    Attributes:
        level: of optimization, such as ``Oz``.
        jobs: how many compilations run at once.
        costs: whether the costs of spill code are measured.
    """

    level: str
    jobs: int
    costs: bool = False
    _known: dict[tuple[str, Unit], Outcome] = field(default_factory=dict)

    def compile(self, recipe: RecipeChoice, units: Sequence[Unit]) -> dict[Unit, Outcome]:
        """What a recipe makes of units."""
        key = repr(recipe)
        missing = [unit for unit in units if (key, unit) not in self._known]
        runs = [partial(self._one, recipe, unit) for unit in missing]
        outcomes = checked(run_isolated_together("policies", runs, DEADLINE, self.jobs))
        self._known |= {(key, unit): outcome for unit, outcome in zip(missing, outcomes, strict=True)}
        return {unit: self._known[key, unit] for unit in units}

    def _one(self, recipe: RecipeChoice, unit: Unit) -> Outcome:
        models = [point.model for point in recipe.points.values()]
        runners = [f"onnx:{model}" for model in models]
        return outcome(unit.bitcode, self.level, recipe.options, recipe.pipeline, runners, costs=self.costs)


def outcome(
    bitcode: Path,
    level: str,
    options: Sequence[str] = (),
    pipeline: str = "",
    runners: Sequence[str] = (),
    *,
    costs: bool,
) -> Outcome:
    """Compile in this process, which should end afterwards: LLVM's options stay set.

    Args:
        bitcode: the unit.
        level: of optimization.
        options: of LLVM, without dashes.
        pipeline: runs at the end of the level's.
        runners: of priorities.
        costs: whether the costs of spill code are measured.
    """
    module = Module.read(bitcode)
    llvm_options(["-relocation-model=pic", *(f"-{option}" for option in options)])
    at = {"optimizer-last": pipeline} if pipeline else {}
    optimize(module, f"default<{level}>", at=at, options=PipelineOptions(as_clang=True))
    wanted = _core.EmitOptions()
    wanted.filetype, wanted.relocation_model, wanted.costs = file_type("obj"), "pic", costs
    advisors = [PriorityAdvisor(runner) for runner in runners]
    for advisor in advisors:
        advisor.may_idle = True  # a unit of data alone has nothing to ask
    emitted = generate(module, wanted, advisors)
    return Outcome(code_bytes(emitted.code), sum(total for _, _, total in emitted.costs))


def training_units(level: str, count: int, *, small: bool) -> list[Unit]:
    """Up to `count` units of each training program, large and small ones, without those of drivers."""
    units = []
    for program in built(SMALL if small else part("train")):
        paths = {program.unit(source, level) for source in program.sources() if "_driver" not in source}
        fit = [path for path in paths if not path.name.startswith("_driver")]
        fit = [path for path in fit if path.stat().st_size <= LARGEST_UNIT]
        fit.sort(key=lambda path: (-path.stat().st_size, path.name))
        units += [Unit(program.name, path) for path in fit[:: max(1, len(fit) // count)][:count]]
    return units


def data_hash(units: Sequence[Unit]) -> str:
    """The SHA-256 of the bitcode of units, in their order."""
    whole = hashlib.sha256()
    for unit in units:
        whole.update(hashlib.sha256(unit.bitcode.read_bytes()).digest())
    return whole.hexdigest()


def by_program(values: Mapping[Unit, float]) -> dict[str, float]:
    """The sums over the units of every program."""
    sums: dict[str, float] = defaultdict(float)
    for unit, value in values.items():
        sums[unit.program] += value
    return dict(sums)


def ratios(values: Mapping[str, float], base: Mapping[str, float]) -> dict[str, float]:
    """Those of programs whose base is not 0."""
    return {name: value / base[name] for name, value in values.items() if base[name]}
