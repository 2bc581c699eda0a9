# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`SizeProgress`: what every inlining decision was worth, by estimated bytes, while the compilation goes on.

The measured reward comes at the end of an episode, after hundreds of decisions. These shares of it come at
once. They are differences of an estimate, and the last step of an episode takes their sum back, so that they
change which decisions an agent finds early, but not which ones are best.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from passpilot.features.catalogue import HOOKED
from passpilot.plugin.errors import InputError
from passpilot.training.native_size.functions import NOWHERE
from passpilot.training.native_size.model import NativeSize, shipped

if TYPE_CHECKING:
    from passpilot.plugin.module import Module
    from passpilot.training.compiler_pb2 import Start


def progress_of(start: Start) -> SizeProgress | None:
    """The progress that a start asks for; None if it asks for none.

    Raises:
        InputError: its decisions are not about calls in LLVM.
    """
    if not start.partial:
        return None
    row = HOOKED.get(start.point)
    if row is None or row.site != "call" or start.also:
        raise InputError(f"partial: expected the point inline alone, got {start.point}")
    return SizeProgress(shipped())


class SizeProgress:
    """Estimates at every question what the answer to the one before was worth.

    Args:
        model: estimates the bytes of functions.
    """

    def __init__(self, model: NativeSize) -> None:
        self._model = model
        self._whole = 1.0
        self._before: dict[str, float] = {}

    def begin(self, module: Module) -> None:
        """Begin with a module, in front of its pipeline."""
        self._module = module
        self._whole = sum(self._model.sizes(module).values()) or 1.0

    def seen(self, site: object) -> float:
        """The share of the module by which caller and callee of the last question have become smaller."""
        saved = sum(size - self._bytes(name) for name, size in self._before.items())
        names = site.caller.name, site.callee.name  # type: ignore[attr-defined]
        self._before = {name: self._bytes(name) for name in names}
        return saved / self._whole

    def _bytes(self, name: str) -> float:
        """The estimated bytes of a function; 0 for one that is gone, or whose code another module has."""
        function = self._module.function(name)
        if function is None or function.is_declaration or function.linkage == NOWHERE:
            return 0.0
        return self._model.size(function)
