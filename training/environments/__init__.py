# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compilations as environments of Gymnasium and PettingZoo; importing this registers those of `NAMED`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from passpilot.plugin.extras import needs

with needs("train", "environments"):
    import gymnasium


ENTRY: Final = "passpilot.training.environments.compiler_env:CompilerEnv"

NAMED: Final[Mapping[str, Mapping[str, str]]] = {
    "passpilot/InlineSize-v0": {"point": "inline", "pipeline": "default<Oz>", "reward": "native-size"},
    "passpilot/Evict-v0": {"point": "evict", "reward": "allocation-cost"},
    "passpilot/Priority-v0": {"point": "priority", "reward": "allocation-cost"},
    "passpilot/Pipeline-v0": {
        "point": "advised-pipeline",
        "pipeline": "default<Oz>,advised-pipeline",
        "reward": "native-size",
    },
    "passpilot/Point-v0": {},
}
"""The environments and their arguments; that of any other point is `Point-v0` with ``point=``."""

for _name, _arguments in NAMED.items():
    if _name not in gymnasium.registry:
        gymnasium.register(_name, ENTRY, kwargs=dict(_arguments), order_enforce=True)
