# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Trials`: what runners are worth on modules, by compilations in processes of their own."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from passpilot.passes.advisor import advisor
from passpilot.plugin.errors import Error, InputError
from passpilot.plugin.files import read_regular
from passpilot.runners.spec import RunnerLike
from passpilot.training.learning.decision_network import DecisionNetwork
from passpilot.training.machines.local import Machines
from passpilot.training.native_size.model import shipped
from passpilot.training.rewards import check_reward, find_measure, improvement
from passpilot.training.studies.compile_cache import CompileCache, compiler_here
from passpilot.training.task import Task

TOGETHER: Final = 16
"""Compilations that a child process makes one after the other: a new one costs as much as half of one."""
FAILED: Final = -1.0
"""What a runner is worth whose compilation fails."""


@dataclass(frozen=True, slots=True)
class TrialModule:
    name: str
    code: bytes
    pipeline: str

    @classmethod
    def read(cls, path: str, pipeline: str) -> TrialModule:
        """The module in a file.

        Raises:
            InputError: it cannot be read.
        """
        try:
            return cls(path, read_regular(path), pipeline)
        except OSError as error:
            raise InputError(f"{path}: expected a module, got: {error.strerror}") from error


@dataclass(slots=True)
class Trials:
    """Tries runners at a decision point.

    Attributes:
        point: its name.
        reward: what is measured; it must not be ``none``.
        at: more pipelines, by LLVM's extension points.
        deadline: the seconds that one compilation may take.
        machines: what compiles.
        cache: of the measures of networks, by what they are made of.
    """

    point: str
    reward: str = "native-size"
    at: Mapping[str, str] = field(default_factory=dict)
    deadline: float = 300.0
    machines: Machines = field(default_factory=Machines)
    cache: CompileCache = field(default_factory=partial(CompileCache, ""))
    compilations: int = 0
    _defaults: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_reward(self.reward, [self.point])
        if self.reward == "native-estimate":
            shipped()  # children have the model from here

    def measure(
        self, pairs: Sequence[tuple[RunnerLike | None, TrialModule]], step: Callable[[], object]
    ) -> list[float | Error]:
        """The measure of every module with its runner; None stands for the compiler's own decisions."""
        keys = self._keys(pairs)
        known = [self._known(key) for key in keys]
        missing = [number for number, value in enumerate(known) if value is None]
        runs = [partial(measured, self.point, self.reward, self.at, *pairs[number]) for number in missing]
        self.compilations += len(runs)

        def made(number: int, value: float | Error) -> None:
            if not isinstance(value, Error):
                self.cache.keep(keys[missing[number]], json.dumps(value).encode())
            step()

        results = iter(self.machines.run("train", runs, self.deadline, made, TOGETHER))
        return [next(results) if value is None else value for value in known]

    def _keys(self, pairs: Sequence[tuple[RunnerLike | None, TrialModule]]) -> list[str]:
        """The keys of measures in the cache; empty for one that it cannot have."""
        here = compiler_here() if self.cache.folder else ""
        about = [here, "trial", self.point, self.reward, repr(sorted(self.at.items()))]
        texts = {id(runner): _network_text(runner) for runner, _ in pairs}
        return [
            CompileCache.key("", [*about, module.pipeline, text], module.code)
            if here and (text := texts[id(runner)]) is not None
            else ""
            for runner, module in pairs
        ]

    def _known(self, key: str) -> float | None:
        data = self.cache.find(key)
        return None if data is None else float(data)

    def rewards(
        self,
        runners: Sequence[RunnerLike],
        modules: Sequence[TrialModule],
        step: Callable[[], object] = lambda: None,
    ) -> list[float]:
        """For every runner the mean improvement over the compiler's own decisions, as a share.

        Raises:
            Error: a module cannot be compiled with the compiler's own decisions.
        """
        new = [module for module in modules if module.name not in self._defaults]
        for module, value in zip(new, self.measure([(None, module) for module in new], step), strict=True):
            if isinstance(value, Error):
                raise InputError(f"{module.name}: expected a module that compiles, got: {value}") from value
            self._defaults[module.name] = value
        pairs: list[tuple[RunnerLike | None, TrialModule]] = [
            (runner, module) for runner in runners for module in modules
        ]
        values = iter(self.measure(pairs, step))
        return [sum(self._gain(next(values), module) for module in modules) / len(modules) for _ in runners]

    def _gain(self, value: float | Error, module: TrialModule) -> float:
        return FAILED if isinstance(value, Error) else improvement(value, self._defaults[module.name])


def _network_text(runner: RunnerLike | None) -> str | None:
    """All that a runner is, in a text; None for one of which no text says enough."""
    if runner is None:
        return ""
    if not isinstance(runner, DecisionNetwork):
        return None
    arrangement = runner.arrangement
    return f"{arrangement.names} {arrangement.columns} {runner.to_json()}"


def measured(
    point: str, reward: str, at: Mapping[str, str], runner: RunnerLike | None, module: TrialModule
) -> float:
    """In a process of its own: compile a module, and measure."""
    task = Task(module.code, module.pipeline, at, 2, find_measure(reward), "")
    if runner is None:
        value = task.run()
    else:
        with advisor(point, runner) as chosen:
            value = task.run([chosen])
    assert value is not None, "there is a reward"
    return value
