# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Machines` run calls beside each other; `ThisMachine` does it by child processes."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

from passpilot.plugin.isolated import run_isolated_together

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from passpilot.plugin.errors import Error

T = TypeVar("T")


class Machines(Protocol):
    """Run calls in processes that LLVM may end."""

    @property
    def jobs(self) -> int:
        """How many calls run at once."""
        ...

    def run(
        self,
        who: str,
        calls: Sequence[Callable[[], T]],
        deadline: float,
        done: Callable[[int, T | Error], object] = lambda _number, _made: None,
        together: int = 1,
    ) -> list[T | Error]:
        """The results of calls in order; the error of one that fails, dies or takes over `deadline` seconds.

        `done` is called with the number of a call and its result as soon as that is there. A process may make
        `together` calls one after the other, if they do not disturb each other.
        """
        ...


@dataclass(frozen=True, slots=True)
class ThisMachine:
    """Child processes, of which `jobs` run at once."""

    jobs: int = 1

    def run(
        self,
        who: str,
        calls: Sequence[Callable[[], T]],
        deadline: float,
        done: Callable[[int, T | Error], object] = lambda _number, _made: None,
        together: int = 1,
    ) -> list[T | Error]:
        """See `Machines`."""
        return run_isolated_together(who, calls, deadline, self.jobs, done, together)


@contextmanager
def machines(engine: str, address: str = "", jobs: int = 0) -> Iterator[Machines]:
    """The machines of an `engine`, ``local`` or ``ray``; `jobs` of 0 are as many as there are processors.

    Raises:
        InputError: Ray is not installed, or its cluster at `address` does not answer.
    """
    if engine == "local":
        yield ThisMachine(jobs or len(os.sched_getaffinity(0)))
        return
    from passpilot.training.machines.ray_cluster import RayCluster

    with RayCluster(address, jobs) as cluster:
        yield cluster
