# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot serve-compiler --grpc HOST:PORT`: the command."""

from __future__ import annotations

import asyncio
import math
import os
import signal
import sys
from typing import TYPE_CHECKING, Final

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from passpilot.plugin.arguments import Parser
from passpilot.plugin.errors import InputError, UsageError
from passpilot.training.compiler_service import SERVICE, CompilerService, Corpus
from passpilot.training.pool import GRACE, Pool

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

_OPTIONS: Final = (
    ("grpc.max_receive_message_length", 200 << 20),
    ("grpc.max_send_message_length", 200 << 20),
    ("grpc.so_reuseport", 0),  # a port that is taken is an error
    ("grpc.keepalive_time_ms", 10_000),  # an agent whose machine has gone is noticed
    ("grpc.keepalive_timeout_ms", 10_000),
)


def _parser() -> Parser:
    parser = Parser(
        "passpilot serve-compiler",
        description="Let agents take the decisions of compilations, episode by episode, over gRPC.",
        epilog="example:\n  passpilot serve-compiler --grpc 127.0.0.1:5005 --corpus modules/\n\n"
        "In Python, passpilot.training.episode.CompilerClient is an agent's end; for other languages,\n"
        "compiler.proto in the package defines it.",
    )
    add = parser.option
    add("grpc", metavar="HOST:PORT", required=True, help="where to listen; port 0 for a free one")
    add("corpus", metavar="DIR", help="let agents name modules in this folder")
    add("load", metavar="FILE.py", action="append", default=[], help="register the features in this file")
    add("timeout", metavar="S", type=float, default=60.0, help="seconds for each action of an agent (60)")
    add("compile-timeout", metavar="S", type=float, default=600.0, help="seconds for each step of LLVM (600)")
    most = max(8, 2 * (os.cpu_count() or 1))
    add("episodes", metavar="N", type=int, default=most, help=f"at most so many at a time ({most})")
    parser.traceback_option()
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; ends with 0 on SIGINT and SIGTERM."""
    args = _parser().parse_args(argv)
    for name in ("timeout", "compile_timeout", "episodes"):
        value = getattr(args, name)
        if not (value > 0 and math.isfinite(value)):
            flag = f"--{name.replace('_', '-')}"
            raise UsageError(f"serve-compiler: {flag}: expected a number of more than 0, got {value}")
    asyncio.run(_serve(args))
    return 0


async def _serve(args: argparse.Namespace) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    corpus = Corpus(args.corpus)
    pool = Pool(args.load, args.episodes, args.compile_timeout)
    try:
        server = grpc.aio.server(options=_OPTIONS)
        service = CompilerService(pool, corpus, args.timeout, args.compile_timeout)
        port = _listen(server, args.grpc)
        await pool.warm()
        await _offer(server, service)
        await server.start()
        host = args.grpc.rpartition(":")[0]
        print(f"passpilot serve-compiler: listening on {host}:{port}", file=sys.stderr, flush=True)
        await stop.wait()
        await server.stop(None)
    finally:
        pool.close()
        await _settle()


async def _settle() -> None:
    """Let grpc's tasks end by themselves: those that the end of the loop cancels print tracebacks."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    if others:
        await asyncio.wait(others, timeout=GRACE)


def _listen(server: grpc.aio.Server, address: str) -> int:
    try:
        port = server.add_insecure_port(address)
    except RuntimeError as error:
        raise InputError(f"--grpc {address}: expected an address to listen on, got: {error}") from error
    return port


async def _offer(server: grpc.aio.Server, service: CompilerService) -> None:
    server.add_generic_rpc_handlers((service.handler(),))
    state = health.aio.HealthServicer()
    health_pb2_grpc.add_HealthServicer_to_server(state, server)
    for name in ("", SERVICE):
        await state.set(name, health_pb2.HealthCheckResponse.SERVING)
    reflection.enable_server_reflection((SERVICE, health.SERVICE_NAME, reflection.SERVICE_NAME), server)
