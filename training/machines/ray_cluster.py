# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`RayCluster`: calls on the machines of a Ray cluster, which have passpilot installed."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Sequence
from functools import cache, partial
from importlib import import_module
from typing import Any, Final, Self, TypeVar

from passpilot.plugin.errors import CompilationError, Error, InputError
from passpilot.plugin.failures import describe_exception
from passpilot.plugin.isolated import run_isolated_together
from passpilot.plugin.load import load_file
from passpilot.training.machines.local import Machines

T = TypeVar("T")

ATTEMPTS: Final = 4
"""How often a call is tried whose worker dies."""
STARTS: Final = 2
"""How often a cluster of this machine is started: rarely, one of Ray's processes dies at once.

Ray gives no handle to the other processes of a failed start; they end with this process.
"""
CONNECT: Final = 120.0
"""The seconds for a cluster to give its first answer."""


class RayCluster(Machines):
    """Runs calls on a cluster; a worker that dies costs its call alone, which is tried again.

    Args:
        address: the cluster's, as ``ray.init`` takes it; empty for a cluster of this machine's processors.
        jobs: how many calls run at once; 0 for as many as the cluster has processors.
        load: files that a worker loads before a call.

    Raises:
        InputError: Ray is not installed, or the cluster does not answer.
    """

    def __init__(self, address: str = "", jobs: int = 0, load: Sequence[str] = ()) -> None:
        self._own = {} if address else private_settings()
        os.environ.update(self._own)
        self._ray = ray = _ray()
        if not address:
            ray._private.node.Node.start_api_server = _no_api_server
        here = {"num_cpus": jobs or len(os.sched_getaffinity(0)), "include_dashboard": False}
        where = {"address": address} if address else here
        starts = 1 if address else STARTS
        for start in range(1, starts + 1):
            try:
                ray.init(**where, log_to_driver=False, configure_logging=False)
                break
            except Exception as error:
                if start == starts:
                    at, got = address or "this machine", describe_exception(error)
                    raise InputError(f"ray at {at}: expected a cluster, got {got}") from error
        self._load = tuple(load)
        self._isolated = ray.remote(num_cpus=1, max_retries=ATTEMPTS - 1)(isolated)
        super().__init__(jobs or max(1, int(ray.cluster_resources().get("CPU", 1))))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._ray.shutdown()
        for name in self._own:
            os.environ.pop(name, None)

    def share(self, value: object) -> Any:
        """See `Machines`; Ray finds it again in the arguments of a `partial`."""
        return self._ray.put(value)

    def run(
        self,
        who: str,
        calls: Sequence[Callable[[], T]],
        deadline: float,
        done: Callable[[int, T | Error], object] = lambda _number, _result: None,
        together: int = 1,  # noqa: ARG002  (a call is a task)
    ) -> list[T | Error]:
        """See `Machines`; calls and results are sent, so they must be picklable.

        Raises:
            CompilationError: the cluster is gone.
        """
        ray, results = self._ray, dict[int, T | Error]()
        indices = {
            self._isolated.remote(who, deadline, self._load, call.func, *call.args, **call.keywords): index
            for index, call in enumerate(map(partial, calls))
        }
        waiting = list(indices)
        while waiting:
            # Every attempt ends by its own deadline. After all of them, the cluster must be gone.
            limit = CONNECT + deadline * ATTEMPTS * (1 + len(waiting) / self.jobs)
            ready, waiting = ray.wait(waiting, num_returns=1, timeout=limit)
            if not ready:
                raise CompilationError(
                    f"ray: expected an answer of the cluster within {limit:g} s, got silence"
                )
            for ref in ready:
                index = indices[ref]
                try:
                    results[index] = ray.get(ref)
                except ray.exceptions.RayTaskError as error:  # not of a compilation: raised as on one machine
                    raise error.cause from error
                except ray.exceptions.RayError as error:
                    got = describe_exception(error)
                    results[index] = CompilationError(f"ray: expected a compilation, got {got}")
                done(index, results[index])
        return [results[index] for index in range(len(calls))]


def private_settings() -> dict[str, str]:
    """What the environment lacks for a cluster that nobody else sees: its address and a token of its own.

    Ray would ask a public address for its own one, and keep a token in the user's home.
    """
    own = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
    if not any(name.startswith("RAY_AUTH_") for name in os.environ):
        own |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": _token()}
    return {name: value for name, value in own.items() if name not in os.environ}


@cache
def _token() -> str:
    """One for all clusters of a process, because Ray reads it once."""
    return secrets.token_hex(32)


def _no_api_server(node: Any, **_: object) -> None:
    """Takes the place of Ray's, which asks the metadata services of clouds, even without a dashboard."""
    node._webui_url = ""


def _ray() -> Any:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        import ray
    except ImportError as error:
        raise InputError("--engine=ray: Ray is missing; pip install 'passpilot[ray]'") from error
    return ray


def isolated(
    who: str,
    deadline: float,
    load: Sequence[str],
    function: Callable[..., T],
    *arguments: object,
    **keywords: object,
) -> T | Error:
    """In a worker: call a function in a child process, because LLVM's options stay set."""
    import_module("passpilot.errors")  # else Ray sends errors as new classes, which nobody recognizes

    def loaded() -> T:
        for file in load:
            load_file(file)
        return function(*arguments, **keywords)

    return run_isolated_together(who, [loaded], deadline, 1)[0]
