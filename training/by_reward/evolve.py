# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`EvolutionRun`: evolves a network on the reward itself, from the compiler's decisions or a policy on.

The output folder gets what `Imitation` writes, and `network.json`, the weights.
"""

from __future__ import annotations

import glob
import hashlib
import os
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from passpilot.features.domain import Choice, Flag
from passpilot.passes.points import search_point
from passpilot.plugin.errors import InputError
from passpilot.plugin.files import write_file
from passpilot.training.by_reward.evolution import Antithetic, Covariance
from passpilot.training.by_reward.trials import TrialModule, Trials
from passpilot.training.data.collection import collect, loose_modules
from passpilot.training.data.gather import Teaching
from passpilot.training.data.matrix import ALL, Arrangement, Examples
from passpilot.training.data.shards import DecisionShards
from passpilot.training.learning.checkpoint import Checkpoint, prefixed, without_prefix
from passpilot.training.learning.curves import Curve
from passpilot.training.learning.graph import policy_model
from passpilot.training.learning.learner import Scaling
from passpilot.training.learning.network import NetworkLearner
from passpilot.training.learning.policy import WEIGHTS, NetworkPolicy, policy_text, read_policy
from passpilot.training.learning.policy_check import check_export
from passpilot.training.learning.set_network import fresh_network
from passpilot.training.learning.settings import NetworkSettings
from passpilot.training.learning.toml_settings import toml_text
from passpilot.training.machines.local import ThisMachine
from passpilot.training.rewards import REWARDS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from passpilot.training.by_reward.evolution import Strategy
    from passpilot.training.learning.policy_check import ExportCheck
    from passpilot.training.machines.local import Machines

MODEL: Final = "model.onnx"
CHECKPOINT: Final = "checkpoint.npz"
DATA: Final = "start"
"""The folder in the output with the compiler's own decisions, from which the scale of the features comes."""

_CHARTS: Final = (("reward", "best candidate"), ("train reward", "validation reward"))


@dataclass(frozen=True, slots=True)
class EvolveSettings:
    """The settings of `passpilot train evolve`."""

    modules: tuple[str, ...]
    """Paths of modules to learn on; ``*`` stands for any text."""
    validation: tuple[str, ...] = ()
    """Modules of other programs, by which the best iteration is chosen."""
    point: str = "inline"
    pipeline: str = "default<Oz>"
    """The passes to run; empty for code generation alone."""
    reward: str = field(default="native-size", metadata={"choices": REWARDS})
    features: tuple[str, ...] = (ALL,)
    hidden: tuple[int, ...] = field(default=(), metadata={"low": 1, "high": 4096})
    """The widths of the hidden layers; none for a linear policy."""
    start: str = ""
    """The folder of a network to begin with; if empty, evolution begins with the compiler's decisions."""
    method: str = field(default="antithetic", metadata={"choices": ("antithetic", "cma")})
    iterations: int = field(default=50, metadata={"low": 1, "high": 1_000_000})
    population: int = field(default=16, metadata={"low": 4, "high": 10_000})
    """Candidates of an iteration."""
    sample: int = field(default=4, metadata={"low": 1, "high": 100_000})
    """Modules of an iteration, on which all its candidates are tried."""
    sigma: float = field(default=0.2, metadata={"low": 1e-6, "high": 100})
    """How far candidates are from the present policy, as a share of the weights."""
    learning_rate: float = field(default=0.1, metadata={"low": 1e-6, "high": 100})
    """The step of an iteration, as a share of the weights; of ``antithetic``."""
    checkpoint: int = field(default=5, metadata={"low": 1, "high": 100_000})
    """Iterations between two looks at all modules."""
    seed: int = field(default=0, metadata={"low": 0, "high": (1 << 31) - 1})
    deadline: float = field(default=300.0, metadata={"low": 0.1, "high": 1e6})
    """The seconds that one compilation may take."""


@dataclass(frozen=True, slots=True)
class Evolved:
    """What came of an evolution.

    Attributes:
        description: the policy in words.
        start: the rewards of the policy that it began with, by part.
        rewards: those of the policy that was kept.
        iteration: from which it is; 0 if nothing was better than the start.
        check: how the exported model compares with it.
        compilations: how many there were in this run.
        seconds: the time of all runs.
    """

    description: str
    start: Mapping[str, float]
    rewards: Mapping[str, float]
    iteration: int
    check: ExportCheck
    compilations: int
    seconds: float


class EvolutionRun:
    """An evolution; `run` does it.

    Args:
        settings: paths in them are relative to `base`.
        base: a folder.
        folder: where the files come.
        machines: what compiles.
        resume: whether to go on from the folder's checkpoint, if there is one.

    Raises:
        InputError: the modules cannot be read, or nothing is decided in them.
    """

    def __init__(
        self,
        settings: EvolveSettings,
        base: str,
        folder: str,
        *,
        machines: Machines | None = None,
        resume: bool = False,
    ) -> None:
        self._settings, self._folder, self._resume = settings, folder, resume
        self._point = search_point(settings.point)
        self._parts = {"train": modules_of(settings.modules, base, settings.pipeline)}
        if settings.validation:
            self._parts["validation"] = modules_of(settings.validation, base, settings.pipeline)
        self._key = _key(settings, self._parts)
        machines = machines or ThisMachine()
        self._trials = Trials(settings.point, settings.reward, {}, settings.deadline, machines)
        arrangement = Arrangement.of(self._point, settings.features)
        self._examples = self._gathered(arrangement, machines)
        self._policy = self._started(
            arrangement, os.path.join(base, settings.start) if settings.start else ""
        )

    def _gathered(self, arrangement: Arrangement, machines: Machines) -> Examples:
        """The compiler's own decisions in the modules for training."""
        folder = os.path.join(self._folder, DATA)
        shards = os.path.join(folder, "train")
        if not self._resume or not os.path.isdir(shards):
            modules = loose_modules([each.name for each in self._parts["train"]], self._settings.pipeline)
            teaching = Teaching(self._settings.point, deadline=self._settings.deadline, machines=machines)
            collect(modules, teaching, folder, None, "train")
        return Examples.load(DecisionShards(shards), arrangement, self._point.default.name)

    def _started(self, arrangement: Arrangement, start: str) -> NetworkPolicy:
        if start:
            return read_policy(start, arrangement)
        scaling = Scaling()
        if not isinstance(arrangement.domain, (Flag, Choice)):
            labels = self._examples.labels
            scaling = Scaling(float(labels.mean()), float(labels.std()) or 1.0)
        settings = NetworkSettings(batch=64)
        first = fresh_network("network", arrangement, self._settings.hidden, self._settings.seed)
        learner = NetworkLearner(settings, first, self._settings.seed, self._examples, None, scaling)
        learner.advance(settings.rounds)
        return NetworkPolicy(arrangement, learner.statistics, learner.network, scaling)

    def _strategy(self) -> Strategy:
        settings = self._settings
        start = self._policy.network.vector().astype(np.float64)
        if settings.method == "cma":
            return Covariance(start, settings.sigma, settings.population, settings.seed)
        return Antithetic(start, settings.sigma, settings.population, settings.seed, settings.learning_rate)

    def _with(self, weights: np.ndarray) -> NetworkPolicy:
        """The policy with other weights."""
        network = self._policy.network.copy()
        network.assign(weights)
        policy = self._policy
        return NetworkPolicy(policy.arrangement, policy.statistics, network, policy.scaling)

    def run(self, step: Callable[[int, str], object] = lambda _iterations, _text: None) -> Evolved:
        """Evolve, and write the policy; `step` is called with the iterations so far and a line of text.

        Raises:
            InputError: a file cannot be written, or the checkpoint is of another evolution.
            ModelError: the exported model does not decide as the policy.
        """
        strategy = self._strategy()
        state = self._begun(strategy)
        curve = Curve(self._folder, state.rows)
        began = time.monotonic() - state.seconds
        if not state.best:
            state.start = state.best = self._rewards(strategy.mean)
            state.weights = strategy.mean.copy()
        while state.iteration < self._settings.iterations:
            row = self._iterate(strategy, state)
            curve.add(row)
            state.rows, state.seconds = curve.rows, time.monotonic() - began
            self._save(strategy, state)
            step(state.iteration, f"reward {row['reward']:.2%}, best {watched_reward(state.best):.2%}")
        curve.close(f"Evolution at {self._point.name}: gain over LLVM", _CHARTS)
        return self._finished(state)

    def _iterate(self, strategy: Strategy, state: _EvolutionState) -> dict[str, float]:
        settings, train = self._settings, self._parts["train"]
        random = np.random.default_rng((settings.seed, state.iteration))
        chosen = random.permutation(len(train))[: settings.sample]
        candidates = [self._with(each) for each in strategy.ask()]
        values = self._trials.rewards(candidates, [train[place] for place in chosen])
        strategy.tell(values)
        state.iteration += 1
        row = {"iteration": state.iteration, "reward": float(np.mean(values)), "best candidate": max(values)}
        if state.iteration % settings.checkpoint and state.iteration < settings.iterations:
            return row
        rewards = self._rewards(strategy.mean)
        if watched_reward(rewards) > watched_reward(state.best):
            state.best, state.weights, state.kept = rewards, strategy.mean.copy(), state.iteration
        return row | {f"{part} reward": value for part, value in rewards.items()}

    def _rewards(self, weights: np.ndarray) -> dict[str, float]:
        policy = self._with(weights)
        return {part: self._trials.rewards([policy], modules)[0] for part, modules in self._parts.items()}

    def _begun(self, strategy: Strategy) -> _EvolutionState:
        path = os.path.join(self._folder, CHECKPOINT)
        if not self._resume or not os.path.exists(path):
            return _EvolutionState()
        found = Checkpoint.read(path, self._key)
        strategy.restore(without_prefix("strategy_", found.arrays))
        state = _EvolutionState(weights=np.asarray(found.arrays["weights"], np.float64))
        for name in ("rows", "start", "best", "iteration", "kept", "seconds"):
            setattr(state, name, found.facts[name])
        return state

    def _save(self, strategy: Strategy, state: _EvolutionState) -> None:
        arrays = prefixed("strategy_", strategy.state()) | {"weights": state.weights}
        names = ("rows", "start", "best", "iteration", "kept", "seconds")
        facts = {name: getattr(state, name) for name in names}
        Checkpoint(self._key, facts, arrays).write(os.path.join(self._folder, CHECKPOINT))

    def _finished(self, state: _EvolutionState) -> Evolved:
        policy = self._with(state.weights)
        facts = {
            "passpilot/point": self._point.name,
            "passpilot/trained": f"evolution, {policy.describe()}, seed {self._settings.seed}",
        }
        model = policy_model(policy, policy.arrangement, policy.scaling, facts).SerializeToString()
        check = check_export(model, policy, policy.scaling, [self._examples], self._settings.seed)
        write_file(os.path.join(self._folder, MODEL), model)
        write_file(os.path.join(self._folder, WEIGHTS), policy_text(policy).encode())
        write_file(os.path.join(self._folder, "settings.toml"), toml_text(self._settings).encode())
        return Evolved(
            policy.describe(),
            state.start,
            state.best,
            state.kept,
            check,
            self._trials.compilations,
            state.seconds,
        )


@dataclass(slots=True)
class _EvolutionState:
    """How far an evolution is."""

    rows: list[dict[str, float]] = field(default_factory=list)
    start: dict[str, float] = field(default_factory=dict)
    best: dict[str, float] = field(default_factory=dict)
    iteration: int = 0
    kept: int = 0
    seconds: float = 0.0
    weights: np.ndarray = field(default_factory=lambda: np.zeros(0))


def watched_reward(rewards: Mapping[str, float]) -> float:
    """The reward by which the best policy is chosen."""
    return rewards.get("validation", rewards["train"])


def modules_of(patterns: Sequence[str], base: str, pipeline: str) -> list[TrialModule]:
    """The modules in files that fit patterns, which are relative to `base`.

    Raises:
        InputError: no file fits a pattern, or one cannot be read.
    """
    made: dict[str, TrialModule] = {}
    for pattern in patterns:
        found = sorted(glob.glob(os.path.join(base, pattern), recursive=True))
        if not found:
            raise InputError(f"modules: expected files, got none that fit {pattern}")
        for path in found:
            made.setdefault(path, TrialModule.read(path, pipeline))
    return list(made.values())


def _key(settings: EvolveSettings, parts: Mapping[str, Sequence[TrialModule]]) -> str:
    """A hash of the settings and the modules."""
    digest = hashlib.sha256(toml_text(settings).encode())
    for modules in parts.values():
        for each in modules:
            digest.update(hashlib.sha256(each.code).digest())
    return digest.hexdigest()
