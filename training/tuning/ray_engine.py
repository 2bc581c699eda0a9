# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compilations for a search on a Ray cluster, whose machines have passpilot installed."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from passpilot.plugin.errors import CompilationError, Error, InputError
from passpilot.plugin.failures import describe_exception
from passpilot.plugin.isolated import run_isolated_together
from passpilot.plugin.module import Module
from passpilot.training.tuning.unit import warm_up

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Self

    from passpilot.training.tuning.engine import Done
    from passpilot.training.tuning.unit import Compiled, Unit, UnitChoice

ATTEMPTS: Final = 4
"""How often a compilation is tried whose worker dies."""
CONNECT: Final = 120.0
"""The seconds for a cluster to give its first answer."""

_units: Final[dict[str, Unit]] = {}
"""In a worker: the modules that it has read."""


class RayEngine:
    """Compiles on a cluster; a worker that dies costs its compilation alone, which is tried again.

    Args:
        units: the modules.
        address: the cluster's, as ``ray.init`` takes it; empty for a cluster of this machine's processors.
        jobs: how many compilations run at once; 0 for as many as the cluster has processors.
        deadline: the seconds that one compilation may take.

    Raises:
        InputError: Ray is not installed, or the cluster does not answer.
    """

    def __init__(
        self, units: Sequence[Unit], address: str = "", jobs: int = 0, deadline: float = 300.0
    ) -> None:
        self._ray = ray = _ray()
        here = {"num_cpus": jobs or len(os.sched_getaffinity(0)), "include_dashboard": False}
        where = {"address": address} if address else here
        try:
            ray.init(**where, log_to_driver=False, configure_logging=False)
        except Exception as error:
            at = address or "this machine"
            raise InputError(f"ray at {at}: expected a cluster, got {describe_exception(error)}") from error
        self.jobs = jobs or max(1, int(ray.cluster_resources().get("CPU", 1)))
        self.saved = 0.0
        self._deadline = deadline
        self._compile = ray.remote(num_cpus=1, max_retries=ATTEMPTS - 1)(_compiled)
        self._sources = [
            ray.put((unit.module.bitcode(), replace(unit, module=None)))  # type: ignore[arg-type]
            for unit in units
        ]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._ray.shutdown()

    def compile(
        self, work: Sequence[tuple[int, UnitChoice]], done: Done = lambda _n, _m: None
    ) -> list[Compiled | Error]:
        """See `Engine`."""
        ray = self._ray
        refs = {
            self._compile.remote(self._sources[number], str(number), choice, self._deadline): index
            for index, (number, choice) in enumerate(work)
        }
        made: dict[int, Compiled | Error] = {}
        waiting = list(refs)
        while waiting:
            # Every attempt ends by its own deadline. After all of them, the cluster must be gone.
            limit = CONNECT + self._deadline * ATTEMPTS * (1 + len(waiting) / self.jobs)
            ready, waiting = ray.wait(waiting, num_returns=1, timeout=limit)
            if not ready:
                raise CompilationError(
                    f"ray: expected an answer of the cluster within {limit:g} s, got silence"
                )
            for ref in ready:
                index = refs[ref]
                try:
                    made[index] = ray.get(ref)
                except ray.exceptions.RayError as error:
                    made[index] = CompilationError(
                        f"ray: expected a compilation, got {describe_exception(error)}"
                    )
                done(index, made[index])
        return [made[index] for index in range(len(work))]


def _ray() -> Any:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        import ray
    except ImportError as error:
        raise InputError("--engine=ray: expected Ray, got none; pip install 'passpilot[ray]'") from error
    return ray


def _compiled(source: tuple[bytes, Unit], name: str, choice: UnitChoice, deadline: float) -> Compiled | Error:
    """In a worker: compile in a child process, because LLVM's options stay set."""
    code, settings = source
    key = f"{name}:{hash(code)}"
    if key not in _units:
        _units[key] = replace(settings, module=Module(code))
    unit = _units[key]
    warm_up(())
    (made,) = run_isolated_together("tune", [lambda: unit.compile(choice)], deadline, 1)
    return made
