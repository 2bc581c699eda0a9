# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The settings of `passpilot train imitate`."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Final

from passpilot.training.data.matrix import ALL, ExampleWeights

KINDS: Final = ("trees", "network", "linear", "set")
"""Kinds of models: boosted trees, a multilayer perceptron, a linear model, a network of whole sets."""


@dataclass(frozen=True, slots=True)
class DataSettings:
    """Where the decisions are."""

    train: tuple[str, ...]
    """Shards, or folders of them, to learn from."""
    validation: tuple[str, ...] = ()
    """Shards of other programs, on which the best round is chosen."""
    test: tuple[str, ...] = ()
    """Shards that are measured once, at the end."""

    def within(self, folder: str) -> DataSettings:
        """The same, with relative paths taken from `folder`."""
        moved = {
            part: tuple(os.path.join(folder, path) for path in getattr(self, part))
            for part in ("train", "validation", "test")
        }
        return DataSettings(**moved)


@dataclass(frozen=True, slots=True)
class TreeSettings:
    """Boosted trees."""

    rounds: int = field(default=300, metadata={"low": 1, "high": 100_000})
    """The trees, for every score that the model gives."""
    leaves: int = field(default=31, metadata={"low": 2, "high": 10_000})
    """The most leaves of a tree."""
    learning_rate: float = field(default=0.1, metadata={"low": 1e-6, "high": 1})
    least_rows: int = field(default=20, metadata={"low": 1, "high": 1_000_000_000})
    """The fewest decisions in a leaf."""
    l2: float = field(default=0.0, metadata={"low": 0, "high": 1e9})
    columns: float = field(default=1.0, metadata={"low": 0.01, "high": 1})
    """The share of the features that a tree may use, drawn anew for every tree."""
    sample: float = field(default=1.0, metadata={"low": 0.01, "high": 1})
    """The share of the decisions that a tree learns from, drawn anew for every tree."""
    bins: int = field(default=255, metadata={"low": 2, "high": 65535})
    """How many thresholds of a feature are tried."""
    extra: bool = False
    """Whether thresholds are drawn at random, which learns less by heart."""
    smoothing: float = field(default=0.0, metadata={"low": 0, "high": 1e9})
    """How strongly small leaves are drawn towards those above them."""


@dataclass(frozen=True, slots=True)
class NetworkSettings:
    """A multilayer perceptron with ReLU, learned by Adam."""

    hidden: tuple[int, ...] = field(default=(64, 64), metadata={"low": 1, "high": 4096, "most": 16})
    """The widths of the hidden layers."""
    rounds: int = field(default=40, metadata={"low": 1, "high": 100_000})
    """How often all decisions are seen."""
    batch: int = field(default=512, metadata={"low": 1, "high": 1 << 20})
    learning_rate: float = field(default=2e-3, metadata={"low": 1e-8, "high": 1})
    """That of the first round; it falls to a twentieth along a cosine."""
    l2: float = field(default=1e-5, metadata={"low": 0, "high": 10})


@dataclass(frozen=True, slots=True)
class ImitateSettings:
    """The whole file."""

    data: DataSettings
    policy: str = field(default="trees", metadata={"choices": KINDS})
    """The kind of the model."""
    features: tuple[str, ...] = (ALL,)
    """What the model sees; ``*`` stands for the point's own features."""
    label: str = field(default="advice", metadata={"choices": ("advice", "default", "worth")})
    """What is learned: the decisions that were taken, the compiler's own, or the bytes that yes spares."""
    seed: int = field(default=0, metadata={"low": 0, "high": (1 << 31) - 1})
    checkpoint: int = field(default=10, metadata={"low": 1, "high": 100_000})
    """Rounds between checkpoints and lines of the curve."""
    patience: int = field(default=0, metadata={"low": 0, "high": 100_000})
    """Lines of the curve without a better one after which training ends; 0: never."""
    keep: str = field(default="best", metadata={"choices": ("best", "last")})
    """Which model is exported: the one with the least loss on validation programs, or the last."""
    weights: ExampleWeights = field(default_factory=ExampleWeights)
    trees: TreeSettings = field(default_factory=TreeSettings)
    network: NetworkSettings = field(default_factory=NetworkSettings)
