# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`EvolutionRun`: evolves a network on the reward, beginning with the compiler's decisions or a network."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, Unpack

import numpy as np
from numpy.typing import NDArray

from passpilot.plugin.load import load_file
from passpilot.training.by_reward.evolution import Antithetic, Covariance, Strategy
from passpilot.training.by_reward.settings import EvolveSettings
from passpilot.training.by_reward.training import RewardTraining
from passpilot.training.data.matrix import Arrangement
from passpilot.training.learning.checkpoint import prefixed, without_prefix
from passpilot.training.learning.decision_network import DecisionNetwork
from passpilot.training.learning.learner import Scaling
from passpilot.training.learning.network_learner import NetworkLearner
from passpilot.training.learning.set_network import fresh_network
from passpilot.training.learning.settings import NetworkSettings
from passpilot.training.learning.toml_settings import settings_from
from passpilot.training.learning.training import Arrays, RunOptions, TrainedModel
from passpilot.training.machines.local import Machines, machines
from passpilot.training.studies.compile_cache import CompileCache
from passpilot.training.studies.evolved import EvolvedTrials
from passpilot.training.studies.study_file import StudyFile


def evolve(
    settings: str | Mapping[str, object],
    output: str,
    *,
    resume: bool = False,
    engine: str = "local",
    address: str = "",
    jobs: int = 0,
    load: Sequence[str] = (),
    study: str = "",
    no_cache: bool = False,
    callbacks: Sequence[Callable[[EvolutionRun, Mapping[str, float]], object]] = (),
    command: str = "",
) -> TrainedModel:
    """Improve a network on the reward itself, as `passpilot train evolve` does.

    Args:
        settings: a TOML file, or a mapping with the same keys; paths are relative to the file's folder.
        output: the folder of the model.
        resume: whether to go on from the checkpoint in the folder, if there is one.
        engine: ``local``, or ``ray`` for a cluster.
        address: that of the cluster.
        jobs: compilations at once; 0 for as many as there are processors.
        load: Python files to run first, which register features and passes.
        study: a file that keeps the networks that were tried on all modules, and what they are worth.
        no_cache: compile all again, and keep nothing in the user's cache of compilations.
        callbacks: functions that are called with the training and every new row of the curve.
        command: what the card says was called.

    Raises:
        Error: a file or a setting is wrong, or nothing is decided in the modules.
    """
    for file in load:
        load_file(file)
    found, base = settings_from(settings, EvolveSettings)
    with machines(engine, address, jobs, load) as where:
        cache = CompileCache("") if no_cache else CompileCache.of_user()
        training = EvolutionRun(
            found,
            base,
            output,
            machines=where,
            cache=cache,
            callbacks=callbacks,
            resume=resume,
            command=command,
        )
        if study:
            training.keep_trials(StudyFile(study))
        trained = training.run()
        cache.prune()
        return trained


class EvolutionRun(RewardTraining):
    charts: ClassVar = (("reward", "best candidate"), ("train reward", "validation reward"))
    facts: ClassVar = ("done", "best", "kept", "start")

    def __init__(
        self,
        settings: EvolveSettings,
        base: str,
        folder: str,
        *,
        machines: Machines | None = None,
        cache: CompileCache | None = None,
        **run: Unpack[RunOptions],
    ) -> None:
        self._evolution = settings
        where = machines or Machines()
        total = settings.iterations
        super().__init__(settings.method, settings, total, base, folder, machines=where, cache=cache, **run)
        self.start: dict[str, float] = {}
        """The rewards of the network that evolution began with, by part."""
        first = self._network.network.vector().astype(np.float64)
        sigma, population, seed = settings.sigma, settings.population, settings.seed
        self._strategy: Strategy = (
            Covariance(first, sigma, population, seed)
            if settings.method == "cma"
            else Antithetic(first, sigma, population, seed, settings.learning_rate)
        )

    def _first(self, arrangement: Arrangement) -> DecisionNetwork:
        """A network that has learned the compiler's decisions."""
        settings, seed, scaling = NetworkSettings(batch=64), self._evolution.seed, Scaling.of(self._examples)
        first = fresh_network("network", arrangement, self._evolution.hidden, seed)
        learner = NetworkLearner(settings, first, seed, self._examples, None, scaling)
        learner.advance(settings.rounds)
        return DecisionNetwork(arrangement, learner.statistics, learner.network, scaling)

    def keep_trials(self, file: StudyFile) -> None:
        """Keep the networks that are tried on all modules in a study file."""
        self._kept_trials = EvolvedTrials(file, self._evolution, self._modules_digest(), self._key()[:16])

    def _candidate(self, weights: NDArray[np.floating]) -> DecisionNetwork:
        network = self._network.network.copy()
        network.assign(weights)
        return self._with(network)

    def _train(self) -> None:
        if not self.best:
            self._look(self._candidate(self._strategy.mean))
            self.start = self.best
        while self.done < self.total and not self._stopped:
            self._add(self._iterate())

    def _iterate(self) -> dict[str, float]:
        settings, train = self._evolution, self._parts["train"]
        random = np.random.default_rng((settings.seed, self.done))
        chosen = random.permutation(len(train))[: settings.sample]
        candidates = [self._candidate(weights) for weights in self._strategy.ask()]
        values = self._trials.rewards(candidates, [train[place] for place in chosen])
        self._strategy.tell(values)
        self.done += 1
        row = {"iteration": self.done, "reward": float(np.mean(values)), "best candidate": max(values)}
        if self.done % settings.checkpoint and self.done < self.total:
            return row
        return row | self._look(self._candidate(self._strategy.mean))

    def _restore(self, arrays: Mapping[str, NDArray[np.generic]]) -> None:
        super()._restore(arrays)
        self._strategy.restore(without_prefix("strategy_", arrays))

    def _arrays(self) -> Arrays:
        return super()._arrays() | prefixed("strategy_", self._strategy.state())

    def _title(self) -> str:
        return f"Evolution at {self._point.name}: gain over LLVM"

    def _finished(self) -> TrainedModel:
        return self._written("evolution", self._candidate(self._weights), {"at the start": self.start})
