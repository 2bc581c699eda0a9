# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Evolution strategies: `Covariance` (CMA-ES, for small networks) and `Antithetic` (for networks).

`ask` gives candidates, and `tell` takes what these are worth; more is better.
"""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from passpilot.plugin.extras import needs

Vector = NDArray[np.float64]
State = dict[str, NDArray[np.generic]]

DIAGONAL: Final = 400
"""Weights from which CMA-ES leaves their correlations out: its time grows with their square."""

_LEAST: Final = 0.01
"""Added to the size of a weight: weights of zero are varied, too."""


class Strategy(ABC):
    mean: Vector
    """The present weights."""

    @abstractmethod
    def ask(self) -> list[Vector]:
        """The candidates of an iteration."""

    @abstractmethod
    def tell(self, values: Sequence[float]) -> None:
        """What the candidates are worth, in their order."""

    @abstractmethod
    def state(self) -> State:
        """All that `restore` needs to go on exactly here."""

    @abstractmethod
    def restore(self, state: Mapping[str, NDArray[np.generic]]) -> None:
        """Go on from a state; only a new strategy may."""


class Covariance(Strategy):
    """CMA-ES by the package cma.

    A state is the values so far: they and the seed make the same strategy again, without a compilation.
    """

    def __init__(self, start: Vector, sigma: float, population: int, seed: int) -> None:
        with needs("train", "train evolve"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it misses matplotlib, for plots of its own
            import cma
        random = np.random.RandomState(seed)

        def normal(*shape: int) -> NDArray[np.float64]:
            return random.standard_normal(shape)

        self._scale = np.abs(start) + _LEAST
        self._start, self.mean = start.copy(), start.copy()
        options = {
            "popsize": population,
            "randn": normal,
            "seed": math.nan,
            "verbose": -9,
            "maxiter": math.inf,
            "tolfun": 0,
            "tolfunhist": 0,
            "tolx": 0,
            "tolstagnation": math.inf,
            "tolflatfitness": math.inf,
            "CMA_diagonal": len(start) > DIAGONAL,
        }
        self._inner = cma.CMAEvolutionStrategy(np.zeros(len(start)), sigma, options)
        self._candidates: list[Vector] = []
        self._values: list[list[float]] = []

    def ask(self) -> list[Vector]:
        self._candidates = self._inner.ask()
        return [np.asarray(self._start + self._scale * candidate) for candidate in self._candidates]

    def tell(self, values: Sequence[float]) -> None:
        self._inner.tell(self._candidates, [-value for value in values])
        self._values.append(list(values))
        self.mean = np.asarray(self._start + self._scale * self._inner.mean)

    def state(self) -> State:
        return {"told": np.array(self._values, np.float64)}

    def restore(self, state: Mapping[str, NDArray[np.generic]]) -> None:
        for values in state["told"].tolist():
            self.ask()
            self.tell(values)


class Antithetic(Strategy):
    """Pairs of opposite candidates, ranks in place of values, and Adam on the slope that they estimate."""

    def __init__(self, start: Vector, sigma: float, population: int, seed: int, rate: float) -> None:
        self.mean, self._sigma, self._seed, self._rate = start.copy(), sigma, seed, rate
        self._pairs = max(1, population // 2)
        self._scale = np.abs(start) + _LEAST
        self._moments, self._squares = np.zeros_like(start), np.zeros_like(start)
        self._noise: list[Vector] = []
        self._step = 0

    def ask(self) -> list[Vector]:
        random = np.random.default_rng((self._seed, self._step))
        self._noise = [random.standard_normal(len(self.mean)) for _ in range(self._pairs)]
        near = [self._sigma * self._scale * noise for noise in self._noise]
        return [self.mean + sign * step for step in near for sign in (1, -1)]

    def tell(self, values: Sequence[float]) -> None:
        ranks = centred_ranks(values)
        slope = sum(
            (ranks[2 * place] - ranks[2 * place + 1]) * noise for place, noise in enumerate(self._noise)
        )
        slope = np.asarray(slope) / (2 * self._pairs)
        self._step += 1
        self._moments = 0.9 * self._moments + 0.1 * slope
        self._squares = 0.99 * self._squares + 0.01 * slope**2
        mean = self._moments / (1 - 0.9**self._step)
        square = self._squares / (1 - 0.99**self._step)
        self.mean = self.mean + self._rate * self._scale * mean / (np.sqrt(square) + 1e-8)

    def state(self) -> State:
        return {
            "weights": self.mean,
            "moments": self._moments,
            "squares": self._squares,
            "step": np.array(self._step),
        }

    def restore(self, state: Mapping[str, NDArray[np.generic]]) -> None:
        self.mean, self._moments, self._squares = (
            np.array(state[name], np.float64) for name in ("weights", "moments", "squares")
        )
        self._step = int(state["step"])


def centred_ranks(values: Sequence[float]) -> Vector:
    """The ranks of values, from -0.5 for the least to 0.5 for the greatest; equal values share theirs."""
    array = np.asarray(values, np.float64)
    distinct, places, counts = np.unique(array, return_inverse=True, return_counts=True)
    if len(distinct) == 1:
        return np.zeros(len(array))
    ranks = np.cumsum(counts) - (counts + 1) / 2
    return np.asarray(ranks[places] / (len(array) - 1) - 0.5)
