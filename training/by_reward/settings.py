# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The settings of `passpilot train evolve`, `ppo` and `dqn`."""

from __future__ import annotations

from dataclasses import dataclass, field

from passpilot.training.data.matrix import ALL
from passpilot.training.rewards import REWARDS


@dataclass(frozen=True, slots=True)
class RewardSettings:
    """The settings of all trainers by rewards."""

    modules: tuple[str, ...]
    """Paths of modules to learn on; ``*`` stands for any text."""
    validation: tuple[str, ...] = ()
    """Modules of other programs, by which the best model is chosen."""
    point: str = "inline"
    pipeline: str = "default<Oz>"
    """The passes to run; empty for code generation alone."""
    reward: str = field(default="native-size", metadata={"choices": REWARDS})
    features: tuple[str, ...] = (ALL,)
    hidden: tuple[int, ...] = field(default=(), metadata={"low": 1, "high": 4096, "most": 16})
    """The widths of the hidden layers; none for a linear model."""
    start: str = ""
    """The folder of a network to begin with, or a study, whose best one it is."""
    checkpoint: int = field(default=5, metadata={"low": 1, "high": 100_000})
    """Iterations or rollouts between two looks at all modules."""
    seed: int = field(default=0, metadata={"low": 0, "high": (1 << 31) - 1})
    deadline: float = field(default=300.0, metadata={"low": 0.1, "high": 1e6})
    """The seconds that one compilation, or one step of it, may take."""


@dataclass(frozen=True, slots=True)
class EvolveSettings(RewardSettings):
    """The settings of evolution; without `start` it begins with the compiler's decisions."""

    method: str = field(default="antithetic", metadata={"choices": ("antithetic", "cma")})
    iterations: int = field(default=50, metadata={"low": 1, "high": 1_000_000})
    population: int = field(default=16, metadata={"low": 4, "high": 10_000})
    """Candidates of an iteration."""
    sample: int = field(default=4, metadata={"low": 1, "high": 100_000})
    """Modules of an iteration, on which all its candidates are tried."""
    sigma: float = field(default=0.2, metadata={"low": 1e-6, "high": 100})
    """How far candidates are from the present network, as a share of the weights."""
    learning_rate: float = field(default=0.1, metadata={"low": 1e-6, "high": 100})
    """The step of an iteration, as a share of the weights; of ``antithetic``."""


@dataclass(frozen=True, slots=True)
class ReinforceSettings(RewardSettings):
    """The settings of PPO and DQN; `start` is for a network of the same widths, and only for ``ppo``."""

    hidden: tuple[int, ...] = field(default=(64, 64), metadata={"low": 1, "high": 4096, "most": 16})
    checkpoint: int = field(default=4, metadata={"low": 1, "high": 10**9})
    partial: bool = False
    """Whether a decision has its share of the reward at once, by an estimate; of ``inline``."""
    steps: int = field(default=20_000, metadata={"low": 1, "high": 10**12})
    """Decisions in all episodes."""
    environments: int = field(default=1, metadata={"low": 1, "high": 1024})
    """Compilations at once."""
    rollout: int = field(default=256, metadata={"low": 2, "high": 10**9})
    """Decisions of every environment between two updates of the network; between two lines of the curve."""
    batch: int = field(default=64, metadata={"low": 2, "high": 10**9})
    learning_rate: float = field(default=1e-3, metadata={"low": 1e-9, "high": 1})
    discount: float = field(default=1.0, metadata={"low": 0, "high": 1})
    entropy: float = field(default=0.003, metadata={"low": 0, "high": 10})
    """How much chance is rewarded; of ``ppo``."""
    exploration: float = field(default=0.3, metadata={"low": 0, "high": 1})
    """The share of the steps over which chance falls to `least_exploration`; of ``dqn``."""
    horizon: int = field(default=64, metadata={"low": 1, "high": 100_000})
    """Decisions over which rewards are added up directly, since they come at the end; of ``dqn``."""
    least_exploration: float = field(default=0.02, metadata={"low": 0, "high": 1})
