# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`RewardTraining`: what the trainers share that try networks in compilations and learn from the reward."""

from __future__ import annotations

import glob
import hashlib
import os
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar, Final, Unpack

import numpy as np
from numpy.typing import NDArray

from passpilot.passes.point_search import search_point
from passpilot.plugin.errors import InputError
from passpilot.plugin.failures import utf8
from passpilot.plugin.files import write_file
from passpilot.training.by_reward.settings import RewardSettings
from passpilot.training.by_reward.trials import TrialModule, Trials
from passpilot.training.data.collection import collect, loose_modules
from passpilot.training.data.gather import Teaching
from passpilot.training.data.matrix import Arrangement, Examples
from passpilot.training.data.shards import DecisionShards
from passpilot.training.learning.card import reward_card
from passpilot.training.learning.decision_network import WEIGHTS, DecisionNetwork
from passpilot.training.learning.network import RatingNetwork
from passpilot.training.learning.toml_settings import toml_text
from passpilot.training.learning.training import Arrays, RunOptions, TrainedModel, Training
from passpilot.training.machines.local import Machines
from passpilot.training.studies.compile_cache import CompileCache
from passpilot.training.studies.evolved import EvolvedTrials, best_network
from passpilot.training.studies.study_file import compiler_version, is_study

DATA: Final = "start"
"""The folder in the output with the compiler's own decisions, from which the scale of the features comes."""


class RewardTraining(Training):
    """Learns from the rewards of compilations; see `Training`.

    Args:
        method: its name, for the card.
        settings: paths in them are relative to `base`.
        total: the iterations or decisions that the settings want.
        base: a folder; empty for the current one.
        folder: where the files come.
        machines: what compiles.
        cache: of the measures of networks.
        whole: whether a decision is one row in any case.
        run: see `RunOptions`.

    Raises:
        InputError: the modules cannot be read, or nothing is decided in them.
    """

    facts: ClassVar[Sequence[str]] = ("done", "best", "kept")

    def __init__(
        self,
        method: str,
        settings: RewardSettings,
        total: int,
        base: str,
        folder: str,
        *,
        machines: Machines,
        cache: CompileCache | None = None,
        whole: bool = False,
        **run: Unpack[RunOptions],
    ) -> None:
        point = search_point(settings.point)
        super().__init__(point, settings, folder, total, **run)
        self._method, self._reward_settings = method, settings
        self._parts = {"train": modules_of(settings.modules, base, settings.pipeline)}
        if settings.validation:
            self._parts["validation"] = modules_of(settings.validation, base, settings.pipeline)
        cache = cache or CompileCache("")
        self._trials = Trials(settings.point, settings.reward, {}, settings.deadline, machines, cache)
        arrangement = Arrangement.of(point, settings.features, whole=whole)
        self._examples = self._gathered(arrangement, machines)
        start = os.path.join(base, settings.start)
        if settings.start and is_study(start):
            start = self._from_study(start)
        self._network = (
            DecisionNetwork.read(start, arrangement) if settings.start else self._first(arrangement)
        )
        self.best: dict[str, float] = {}
        """The rewards of the best network so far, by part."""
        self.kept = 0
        """After how many iterations or decisions it was found."""
        self._weights: NDArray[np.floating] = np.zeros(0)
        self._kept_trials: EvolvedTrials | None = None

    def _gathered(self, arrangement: Arrangement, machines: Machines) -> Examples:
        """The compiler's own decisions in the modules for training."""
        settings, folder = self._reward_settings, os.path.join(self.folder, DATA)
        shards = os.path.join(folder, "train")
        if not self._resume or not os.path.isdir(shards):
            modules = loose_modules([module.name for module in self._parts["train"]], settings.pipeline)
            teaching = Teaching(settings.point, deadline=settings.deadline, machines=machines)
            collect(modules, teaching, folder, None, "train")
        return Examples.load(DecisionShards(shards), arrangement, self._point.default.name)

    def _from_study(self, path: str) -> str:
        """A folder with the best network in a study; a training that goes on begins as it did."""
        settings, folder = self._reward_settings, os.path.join(self.folder, DATA)
        weights = os.path.join(folder, WEIGHTS)
        if not self._resume or not os.path.exists(weights):
            text = best_network(path, settings.point, settings.reward, self._modules_digest())
            if not text:
                raise InputError(f"{path}: expected a trial of {settings.point}, got none")
            write_file(weights, text)
        return folder

    def _modules_digest(self) -> str:
        """A hash of what rewards depend on beside networks: the compiler, the pipeline and the modules."""
        settings = self._reward_settings
        digest = hashlib.sha256(utf8(f"{compiler_version()}\n{settings.pipeline}"))
        for part, modules in self._parts.items():
            for module in modules:
                digest.update(part.encode() + hashlib.sha256(module.code).digest())
        return digest.hexdigest()

    @abstractmethod
    def _first(self, arrangement: Arrangement) -> DecisionNetwork:
        """The network to begin with where the settings name none."""

    def _with(self, network: RatingNetwork) -> DecisionNetwork:
        """Another network for the same decisions."""
        first = self._network
        return DecisionNetwork(first.arrangement, first.statistics, network, first.scaling)

    def _rewards(self, network: DecisionNetwork) -> dict[str, float]:
        return {part: self._trials.rewards([network], modules)[0] for part, modules in self._parts.items()}

    def _look(self, network: DecisionNetwork) -> dict[str, float]:
        """Try a network on all modules, and keep it if it is the best so far; the columns of the curve."""
        rewards = self._rewards(network)
        is_best = not self.best or watched_reward(rewards) > watched_reward(self.best)
        if self._kept_trials:
            text = network.to_json() if is_best else ""
            self._kept_trials.add(self.done, watched_reward(rewards), rewards, text)
        if is_best:
            self.best, self._weights, self.kept = rewards, network.network.vector(), self.done
        return {f"{part} reward": value for part, value in rewards.items()}

    @property
    def line(self) -> str:
        best = watched_reward(self.best) if self.best else 0
        return f"reward {self.rows[-1].get('reward', 0):.2%}, best {best:.2%}"

    def _key(self) -> str:
        """A hash of the method, the settings and the modules."""
        digest = hashlib.sha256(utf8(f"{self._method}\n{toml_text(self._settings)}"))
        for modules in self._parts.values():
            for module in modules:
                digest.update(hashlib.sha256(module.code).digest())
        return digest.hexdigest()

    def _restore(self, arrays: Mapping[str, NDArray[np.generic]]) -> None:
        self._weights = np.asarray(arrays["weights"], np.float64)

    def _arrays(self) -> Arrays:
        return {"weights": self._weights}

    def _written(
        self, how: str, network: DecisionNetwork, others: Mapping[str, Mapping[str, float]]
    ) -> TrainedModel:
        """Export the best network, whose weights are in the checkpoint."""
        network.network.assign(self._weights)
        return TrainedModel(
            folder=self.folder,
            point=self._point.name,
            description=network.describe(),
            rounds=self.kept,
            check=self._exported(how, network, network.scaling, [self._examples]),
            seconds=self._seconds,
            measure=self._reward_settings.reward,
            rewards=self.best,
            others=others,
            compilations=self._trials.compilations,
        )

    def _card(self, trained: TrainedModel, command: str) -> str:
        return reward_card(trained, self._method, self._reward_settings, command)


def watched_reward(rewards: Mapping[str, float]) -> float:
    """The reward by which the best network is chosen."""
    return rewards.get("validation", rewards["train"])


def modules_of(patterns: Sequence[str], base: str, pipeline: str) -> list[TrialModule]:
    """The modules in files that fit patterns, which are relative to `base`.

    Raises:
        InputError: no file fits a pattern, or one cannot be read.
    """
    modules: dict[str, TrialModule] = {}
    for pattern in patterns:
        found = sorted(glob.glob(os.path.join(base, pattern), recursive=True))
        if not found:
            raise InputError(f"modules: expected files, got none that fit {pattern}")
        for path in found:
            modules.setdefault(path, TrialModule.read(path, pipeline))
    return list(modules.values())
