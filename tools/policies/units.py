# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The units on which policies are made, and what a recipe makes of them."""

from __future__ import annotations

import hashlib
import math
import tomllib
from collections import defaultdict
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from passpilot import PriorityAdvisor
from passpilot.passes.emit import generate
from passpilot.passes.optimize import optimize
from passpilot.plugin import _core
from passpilot.plugin.compile import PipelineOptions, file_type, llvm_options
from passpilot.plugin.isolated import run_isolated_together
from passpilot.plugin.module import Module
from passpilot.training.rewards import code_bytes
from tests.corpus.build import build
from tests.corpus.programs import HERE, all_programs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from passpilot.training.policy_folder import RecipeChoice

DEADLINE: Final = 600.0
LARGEST_UNIT: Final = 1_000_000
"""Bytes of bitcode; larger units take too long."""
SMALL: Final = ("lz4", "md4c")
"""Programs of a run that takes minutes."""


class Unit(NamedTuple):
    """A unit of a training program, before optimization."""

    program: str
    bitcode: Path


class Made(NamedTuple):
    """What a recipe makes of a unit."""

    size: float
    """The bytes of machine code."""
    spills: float
    """The weighed cost of spill code; 0 if it was not asked for."""


@dataclass(slots=True)
class Ways:
    """Compiles units by recipes, and remembers the results.

    Attributes:
        level: of optimization, such as ``Oz``.
        jobs: how many compilations run at once.
        costs: whether the costs of spill code are measured.
    """

    level: str
    jobs: int
    costs: bool = False
    _known: dict[tuple[str, Unit], Made] = field(default_factory=dict)

    def compile(self, recipe: RecipeChoice, units: Sequence[Unit]) -> dict[Unit, Made]:
        """What a recipe makes of units.

        Raises:
            Error: a unit cannot be compiled.
        """
        key = repr(recipe)
        missing = [unit for unit in units if (key, unit) not in self._known]
        runs = [partial(self._one, recipe, unit) for unit in missing]
        for unit, made in zip(
            missing, run_isolated_together("policies", runs, DEADLINE, self.jobs), strict=True
        ):
            if isinstance(made, Exception):
                raise made
            self._known[key, unit] = made
        return {unit: self._known[key, unit] for unit in units}

    def _one(self, recipe: RecipeChoice, unit: Unit) -> Made:
        """Compile in this process, which should end afterwards: LLVM's options stay set."""
        module = Module.read(unit.bitcode)
        llvm_options(["-relocation-model=pic", *(f"-{each}" for each in recipe.options)])
        at = {"optimizer-last": recipe.pipeline} if recipe.pipeline else {}
        optimize(module, f"default<{self.level}>", at=at, options=PipelineOptions(as_clang=True))
        wanted = _core.EmitOptions()
        wanted.filetype, wanted.relocation_model, wanted.costs = file_type("obj"), "pic", self.costs
        models = [point.model for point in recipe.points.values()]
        advisors = [PriorityAdvisor(f"onnx:{model}") for model in models]
        for each in advisors:
            each.may_idle = True  # a unit of data alone has nothing to ask
        made = generate(module, wanted, advisors)
        return Made(code_bytes(made.code), sum(total for _, _, total in made.costs))


def training_units(level: str, count: int, *, small: bool) -> list[Unit]:
    """Up to `count` units of each training program, large and small ones, without those of drivers.

    Raises:
        RuntimeError: a program cannot be fetched or compiled.
    """
    names = SMALL if small else tomllib.loads((HERE / "split.toml").read_text())["parts"]["train"]
    if problems := build(names):
        raise RuntimeError("; ".join(problems))
    found = []
    for name in names:
        program = all_programs()[name]
        paths = {program.unit(source, level) for source in program.sources() if "_driver" not in source}
        fit = [path for path in paths if not path.name.startswith("_driver")]
        fit = [path for path in fit if path.stat().st_size <= LARGEST_UNIT]
        fit.sort(key=lambda path: (-path.stat().st_size, path.name))
        found += [Unit(name, path) for path in fit[:: max(1, len(fit) // count)][:count]]
    return found


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


def mean(values: Mapping[str, float]) -> float:
    """The geometric mean."""
    return math.exp(sum(map(math.log, values.values())) / len(values))
