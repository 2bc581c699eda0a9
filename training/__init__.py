# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Making models: data, trainers, environments. Importing this package registers the environments.

A name is imported from its home at its first use, so that commands that need another part do not pay for it.
"""

from passpilot.training.registration import register_when_imported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from passpilot.training.data.shards import DecisionShards as DecisionShards
    from passpilot.training.environments.agents import CompilerAEC as CompilerAEC
    from passpilot.training.environments.compiler_env import CompilerEnv as CompilerEnv
    from passpilot.training.native_size.model import NativeSize as NativeSize

__all__ = ["CompilerAEC", "CompilerEnv", "DecisionShards", "NativeSize"]

_HOMES = {
    "CompilerAEC": "environments.agents",
    "CompilerEnv": "environments.compiler_env",
    "DecisionShards": "data.shards",
    "NativeSize": "native_size.model",
}

register_when_imported()


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name not in _HOMES:
        message = f"module 'passpilot.training' has no attribute {name!r}"
        raise AttributeError(message)
    value: object = getattr(import_module(f"passpilot.training.{_HOMES[name]}"), name)
    if isinstance(value, type):
        value.__module__ = "passpilot.training"  # so that help(), repr() and tracebacks show the public name
    globals()[name] = value
    return value
