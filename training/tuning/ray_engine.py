# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compilations for a search on a Ray cluster, to which every unit is sent once."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from passpilot.plugin.module import Module
from passpilot.training.machines.ray_cluster import isolated
from passpilot.training.tuning.unit import warm_up

if TYPE_CHECKING:
    from collections.abc import Sequence

    from passpilot.plugin.errors import Error
    from passpilot.training.machines.ray_cluster import RayCluster
    from passpilot.training.tuning.engine import Done
    from passpilot.training.tuning.unit import Compiled, Unit, UnitChoice

_units: Final[dict[str, Unit]] = {}
"""In a worker: the modules that it has read."""


class RayEngine:
    """Compiles on a cluster.

    Args:
        units: the modules.
        cluster: it compiles.
        deadline: the seconds that one compilation may take.
    """

    def __init__(self, units: Sequence[Unit], cluster: RayCluster, deadline: float = 300.0) -> None:
        self._cluster, self._deadline = cluster, deadline
        self.jobs, self.saved = cluster.jobs, 0.0
        self._compile = cluster.task(_compiled)
        self._sources = [
            cluster.ray.put((unit.module.bitcode(), replace(unit, module=None)))  # type: ignore[arg-type]
            for unit in units
        ]

    def compile(
        self, work: Sequence[tuple[int, UnitChoice]], done: Done = lambda _n, _m: None
    ) -> list[Compiled | Error]:
        """See `Engine`."""
        refs = [
            self._compile.remote(self._sources[number], str(number), choice, self._deadline)
            for number, choice in work
        ]
        return self._cluster.results(refs, self._deadline, done)


def _compiled(source: tuple[bytes, Unit], name: str, choice: UnitChoice, deadline: float) -> Compiled | Error:
    """In a worker: compile in a child process."""
    code, settings = source
    key = f"{name}:{hash(code)}"
    if key not in _units:
        _units[key] = replace(settings, module=Module(code))
    warm_up(())
    return isolated("tune", partial(_units[key].compile, choice), deadline)
