# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`EvolvedTrials`: keeps the networks that `train evolve` tries on all modules in a study file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from passpilot.training.by_reward.settings import EvolveSettings
from passpilot.training.studies.study_file import (
    MAXIMIZE,
    SPACE,
    KeptTrial,
    Parameter,
    StudyFile,
    best_fact,
    compiler_version,
    study_name,
)

NETWORK: Final = "network"
"""The fact of a trial with its network; trials have it that were the best of their training so far."""

METHODS: Final = ("antithetic", "cma")
COUNT: Final = {"low": 1, "high": 1_000_000, "log": True}
RATE: Final = {"low": 1e-6, "high": 100.0, "log": True}


class EvolvedTrials:
    """Keeps the trials of one training.

    Args:
        file: where.
        settings: its settings, which are the parameters of its trials.
        digest: a hash of the modules and the pipeline.
        run: the identity of the training.
    """

    def __init__(self, file: StudyFile, settings: EvolveSettings, digest: str, run: str) -> None:
        name = study_name(f"evolve {settings.point}", settings.reward, digest)
        facts = {
            "kind": "evolve",
            "point": settings.point,
            "reward": settings.reward,
            "compiler": compiler_version(),
            "digest": digest,
            SPACE: {
                "method": METHODS,
                **dict.fromkeys(("population", "sample", "width"), COUNT),
                **dict.fromkeys(("sigma", "learning_rate"), RATE),
            },
        }
        self._file, self._run, self._name = file, run, name
        file.study(name, MAXIMIZE, facts)
        self._parameters: dict[str, Parameter] = {
            "method": settings.method,
            "population": settings.population,
            "sample": settings.sample,
            "sigma": settings.sigma,
            "learning_rate": settings.learning_rate,
            "width": max(settings.hidden, default=1),
        }

    def add(self, iteration: int, reward: float, rewards: Mapping[str, float], network: str) -> None:
        """Keep a trial: its reward, those by part, and the network if it is the best so far."""
        facts: dict[str, object] = {"run": self._run, "iteration": iteration, "rewards": dict(rewards)}
        if network:
            facts[NETWORK] = network
        self._file.add(self._name, KeptTrial(reward, self._parameters, facts))


def best_network(path: str, point: str, reward: str, digest: str) -> str:
    """The text of the best network for a point in a study file; see `best_fact`.

    Raises:
        InputError: it is no study file.
    """
    own = study_name(f"evolve {point}", reward, digest)
    return best_fact(path, {"kind": "evolve", "point": point}, own, NETWORK)
