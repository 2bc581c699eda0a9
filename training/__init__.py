# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Making models: data, trainers, environments. With Gymnasium imported, it registers the environments.

The trainers do what `passpilot train` does, with the names of its options as keyword arguments:
`gather_decisions`, `imitate`, `evolve`, `ppo`, `dqn` and `fit_native_size`.

A name is imported from its home at its first use, so that commands that need another part do not pay for it.
"""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from passpilot.training.by_reward.agents import dqn as dqn
    from passpilot.training.by_reward.agents import ppo as ppo
    from passpilot.training.by_reward.evolve import evolve as evolve
    from passpilot.training.data.collection import gather_decisions as gather_decisions
    from passpilot.training.data.shards import DecisionShards as DecisionShards
    from passpilot.training.environments.agents import CompilerAEC as CompilerAEC
    from passpilot.training.environments.compiler_env import CompilerEnv as CompilerEnv
    from passpilot.training.environments.module_episodes import EnvironmentSettings as EnvironmentSettings
    from passpilot.training.learning.imitate import imitate as imitate
    from passpilot.training.learning.training import TrainedModel as TrainedModel
    from passpilot.training.native_size.model import NativeSize as NativeSize
    from passpilot.training.native_size.training import fit_native_size as fit_native_size

_HOMES = {
    "CompilerAEC": "environments.agents",
    "CompilerEnv": "environments.compiler_env",
    "DecisionShards": "data.shards",
    "EnvironmentSettings": "environments.module_episodes",
    "NativeSize": "native_size.model",
    "TrainedModel": "learning.training",
    "dqn": "by_reward.agents",
    "evolve": "by_reward.evolve",
    "fit_native_size": "native_size.training",
    "gather_decisions": "data.collection",
    "imitate": "learning.imitate",
    "ppo": "by_reward.agents",
}
__all__ = list(_HOMES)

if "gymnasium" in sys.modules:
    import passpilot.training.environments  # noqa: F401  (it registers them)


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name not in _HOMES:
        message = f"module 'passpilot.training' has no attribute {name!r}"
        raise AttributeError(message)
    value: object = getattr(import_module(f"passpilot.training.{_HOMES[name]}"), name)
    if callable(value):
        value.__module__ = "passpilot.training"  # so that help(), repr() and tracebacks show the public name
    globals()[name] = value
    return value
