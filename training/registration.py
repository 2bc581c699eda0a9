# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Registers the environments with Gymnasium; their names begin with ``passpilot/``.

`import passpilot.training` does it, before or after `import gymnasium`. Commands that import this package do
not pay for Gymnasium: until somebody imports it, there is only a finder that waits for that.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Final

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


def register_environments() -> None:
    """Register what is not registered yet."""
    import gymnasium

    for name, arguments in NAMED.items():
        if name not in gymnasium.registry:
            gymnasium.register(name, ENTRY, kwargs=dict(arguments), order_enforce=True)


def register_when_imported() -> None:
    """Register the environments now, if Gymnasium is imported, or as soon as it is."""
    if "gymnasium" in sys.modules:
        register_environments()
    elif not any(isinstance(each, _GymnasiumFinder) for each in sys.meta_path):
        sys.meta_path.insert(0, _GymnasiumFinder())


class _GymnasiumFinder:
    """Finds Gymnasium once, by the other finders, and registers the environments behind its import."""

    def find_spec(
        self,
        name: str,
        path: Sequence[str] | None = None,  # noqa: ARG002
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        """The spec of Gymnasium; None for all else."""
        if name != "gymnasium":
            return None
        from importlib.util import find_spec

        sys.meta_path.remove(self)
        spec = find_spec(name)
        if spec is not None and spec.loader is not None:
            run = spec.loader.exec_module

            def run_and_register(module: ModuleType) -> None:
                run(module)
                register_environments()

            spec.loader.exec_module = run_and_register  # type: ignore[method-assign]
        return spec
