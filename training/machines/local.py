# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Machines` run calls side by side, on this machine."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypedDict, TypeVar

from passpilot.plugin.errors import Error, UsageError
from passpilot.plugin.isolated import run_isolated_together

T = TypeVar("T")


@dataclass
class Machines:
    """Run calls in processes that LLVM may end: child processes of this one, of which `jobs` run at once."""

    jobs: int = 1

    def share(self, value: object) -> Any:
        """What stands for a value in the arguments of calls, so that the value is sent to a machine once."""
        return value

    def run(
        self,
        who: str,
        calls: Sequence[Callable[[], T]],
        deadline: float,
        done: Callable[[int, T | Error], object] = lambda _number, _result: None,
        together: int = 1,
    ) -> list[T | Error]:
        """The results of calls in order; the error of one that fails, dies or takes over `deadline` seconds.

        `done` is called with the number of a call and its result as soon as that is there. A process may make
        `together` calls one after the other, if they do not disturb each other.
        """
        return run_isolated_together(who, calls, deadline, self.jobs, done, together)


class MachineOptions(TypedDict, total=False):
    """What `machines` takes."""

    engine: str
    """Who compiles: ``local`` processes, or the machines of a ``ray`` cluster."""
    address: str
    """The cluster's; empty for one on this machine."""
    jobs: int
    """How many compilations run at once; as many as processors by default."""


@contextmanager
def machines(
    engine: str = "local", address: str = "", jobs: int = 0, load: Sequence[str] = ()
) -> Iterator[Machines]:
    """The machines of an `engine`, ``local`` or ``ray``.

    Args:
        engine: where calls run.
        address: the Ray cluster; empty for one of this machine, where alone `jobs` counts.
        jobs: how many calls run at once; 0 for as many as there are processors.
        load: files that register passes and features, which this process has loaded already.

    Raises:
        UsageError: there is no such engine, or an address is given without Ray.
        InputError: Ray is not installed, or its cluster does not answer.
    """
    if engine not in ("local", "ray"):
        raise UsageError(f"--engine: expected local or ray, got {engine!r}")
    if address and engine == "local":
        raise UsageError("--address has no effect without --engine=ray")
    if engine == "local":
        yield Machines(jobs or len(os.sched_getaffinity(0)))
        return
    from passpilot.training.machines.ray_cluster import RayCluster

    with RayCluster(address, 0 if address else jobs, load) as cluster:
        yield cluster
