# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a model sees: tensors, views, graphs. The graphs are imported when they are first used."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from passpilot.features.llvm.graphs import call_graph, control_flow_graph
    from passpilot.features.llvm.interference import interference_graph

__all__ = ["call_graph", "control_flow_graph", "interference_graph"]

_HOMES: Final = {
    "call_graph": "llvm.graphs",
    "control_flow_graph": "llvm.graphs",
    "interference_graph": "llvm.interference",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        message = f"module 'passpilot.features' has no attribute {name!r}"
        raise AttributeError(message)
    from importlib import import_module

    value: object = getattr(import_module(f"passpilot.features.{home}"), name)
    globals()[name] = value
    return value
