# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a model sees: tensors, views, graphs. `interference_graph` is imported when it is first used."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from passpilot.features.graph import interference_graph

__all__ = ["interference_graph"]


def __getattr__(name: str) -> object:
    if name != "interference_graph":
        message = f"module 'passpilot.features' has no attribute {name!r}"
        raise AttributeError(message)
    from importlib import import_module

    value: object = import_module("passpilot.features.graph").interference_graph
    globals()[name] = value
    return value
