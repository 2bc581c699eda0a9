# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`CompilerServer`: the gRPC server around `CompilerService`, with health checks and reflection."""

from __future__ import annotations

import asyncio
import sys
from typing import Final

from passpilot.runners.serving.grpc_server import (
    MOST,
    OPTIONS,
    announce,
    listen,
    places,
)  # before grpc: see there

import grpc  # isort: skip
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from passpilot.plugin.failures import for_terminal
from passpilot.runners.remote.grpc_messages import options
from passpilot.runners.remote.wire import LARGEST
from passpilot.runners.serving.connections import Connections
from passpilot.runners.serving.guard import LOOKERS, AsyncTokenGuard, Lookers, Share
from passpilot.runners.serving.sessions import Notices
from passpilot.training.compiler_service import SERVICE, CompilerService, ServedFolder
from passpilot.training.pool import GRACE, Pool, WorkerOptions

TOTAL: Final = 2 * LARGEST
"""Bytes of all unfinished messages; one peer may send half of them."""


class CompilerServer:
    """Serves compilations to agents.

    Args:
        corpus: the folder whose modules agents may name.
        workers: the options of the processes that compile.
        episodes: the most episodes at a time.
        timeout: seconds for each action of an agent.
        compile_timeout: seconds for each step of LLVM.
        token: what agents must send; empty for no token.

    Raises:
        Error: the corpus is not a folder.
    """

    def __init__(
        self,
        corpus: str | None,
        workers: WorkerOptions,
        episodes: int,
        timeout: float,
        compile_timeout: float,
        *,
        token: str,
    ) -> None:
        folder = ServedFolder(corpus)
        self._pool = Pool(workers, episodes)
        most = places(MOST)
        self._connections = Connections(LARGEST, TOTAL, timeout, Notices(_notice))
        self._service = CompilerService(
            self._pool, folder, timeout, compile_timeout, self._connections, Share(most // 2)
        )
        self._server = grpc.aio.server(
            options=(*OPTIONS, *options(LARGEST, timeout)),
            interceptors=[AsyncTokenGuard(token, Lookers(SERVICE, timeout, self._connections))],
            maximum_concurrent_rpcs=most + LOOKERS,
        )

    async def start(self, address: str, tls: tuple[bytes, bytes] | None) -> None:
        """Listen at HOST:PORT, and print the port if the system chooses it.

        Raises:
            PeerError: the port cannot be used.
        """
        port = listen(self._server, address, f"serve-compiler --grpc {address}", tls)
        await self._pool.warm()
        await self._offer()
        await self._server.start()
        self._connections.start(port)
        announce(address, port)

    async def _offer(self) -> None:
        self._server.add_generic_rpc_handlers((self._service.handler(),))
        state = health.aio.HealthServicer()
        health_pb2_grpc.add_HealthServicer_to_server(state, self._server)
        for name in ("", SERVICE):
            await state.set(name, health_pb2.HealthCheckResponse.SERVING)
        names = (SERVICE, health.SERVICE_NAME, reflection.SERVICE_NAME)
        reflection.enable_server_reflection(names, self._server)

    async def stop(self) -> None:
        """End all episodes and the worker processes."""
        self._connections.stop()
        await self._server.stop(None)
        self._pool.close()
        # The end of the loop cancels grpc's tasks, which would print tracebacks.
        others = asyncio.all_tasks() - {asyncio.current_task()}
        if others:
            await asyncio.wait(others, timeout=GRACE)


def _notice(text: str) -> None:
    print(f"passpilot serve-compiler: {for_terminal(text)}", file=sys.stderr, flush=True)
