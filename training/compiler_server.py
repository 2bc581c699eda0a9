# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`CompilerServer`: the gRPC server around `CompilerService`, with health checks and reflection."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from passpilot.runners.serving.grpc_server import OPTIONS, announce, listen  # before grpc: see there

import grpc  # isort: skip
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from passpilot.runners.serving.guard import AsyncTokenGuard
from passpilot.training.compiler_service import SERVICE, CompilerService, ServedFolder
from passpilot.training.pool import GRACE, Pool

if TYPE_CHECKING:
    from passpilot.training.pool import WorkerOptions


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
        self._service = CompilerService(self._pool, folder, timeout, compile_timeout)
        self._server = grpc.aio.server(options=OPTIONS, interceptors=[AsyncTokenGuard(token)])

    async def start(self, address: str, tls: tuple[bytes, bytes] | None) -> None:
        """Listen at HOST:PORT, and print the port if the system chooses it.

        Raises:
            PeerError: the port cannot be used.
        """
        port = listen(self._server, address, f"serve-compiler --grpc {address}", tls)
        await self._pool.warm()
        await self._offer()
        await self._server.start()
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
        await self._server.stop(None)
        self._pool.close()
        # The end of the loop cancels grpc's tasks, which would print tracebacks.
        others = asyncio.all_tasks() - {asyncio.current_task()}
        if others:
            await asyncio.wait(others, timeout=GRACE)
